package tidemark.text;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/**
 * Members of a JSON object that a schema has no place for, as an object with their text as it is in the row: those that
 * no column is named after, and those in which something is outside the column's type. Null: there are none, or the row
 * does not parse.
 */
public final class UnknownMembers implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private final DataType schema;
    private final Map options;
    private transient JsonFactory factory;
    private transient java.util.Map known;

    private UnknownMembers(DataType schema, Map options) {
        this.schema = schema;
        this.options = options;
    }

    /** As a column of text, from one of rows. */
    public static Column function(Seq row, String schema, Map options) {
        return Invoked.plain(
            new UnknownMembers(DataType.fromDDL(schema), options), "evaluate", DataTypes.StringType, row);
    }

    public boolean equals(Object other) {
        return other instanceof UnknownMembers && ((UnknownMembers) other).schema.equals(this.schema)
            && ((UnknownMembers) other).options.equals(this.options);
    }

    public int hashCode() {
        return this.schema.hashCode();
    }

    public UTF8String evaluate(UTF8String row) {
        ByteBuffer bytes = row.getByteBuffer();
        int from = bytes.arrayOffset() + bytes.position();
        try {
            JsonParser parser = factory().createParser(bytes.array(), from, bytes.remaining());
            try {
                return members(parser, bytes.array(), from);
            } finally {
                parser.close();
            }
        } catch (IOException broken) {
            return null;
        }
    }

    private UTF8String members(JsonParser parser, byte[] bytes, int base) throws IOException {
        if (parser.nextToken() != JsonToken.START_OBJECT) {
            return null;
        }
        StringBuilder found = new StringBuilder();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            long from = parser.currentTokenLocation().getByteOffset();
            DataType type = (DataType) fields((StructType) this.schema).get(parser.currentName());
            parser.nextToken();
            boolean kept = type != null && !hasMore(parser, type);
            parser.skipChildren();
            parser.finishToken();
            long to = parser.currentLocation().getByteOffset();
            if (from < 0) {
                return null;
            }
            if (!kept) {
                String text = new String(bytes, base + (int) from, (int) (to - from), StandardCharsets.UTF_8);
                found.append(found.length() == 0 ? '{' : ',').append(text.strip());
            }
        }
        return found.length() == 0 ? null : UTF8String.fromString(found.append('}').toString());
    }

    /** Whether something in the value that begins here is outside its type; it is passed over. */
    private boolean hasMore(JsonParser parser, DataType type) throws IOException {
        boolean found = false;
        if (parser.currentToken() == JsonToken.START_ARRAY && type instanceof ArrayType) {
            while (parser.nextToken() != JsonToken.END_ARRAY) {
                found |= hasMore(parser, ((ArrayType) type).elementType());
            }
        } else if (parser.currentToken() == JsonToken.START_OBJECT && type instanceof StructType) {
            java.util.Map members = fields((StructType) type);
            while (parser.nextToken() != JsonToken.END_OBJECT) {
                DataType below = (DataType) members.get(parser.currentName());
                parser.nextToken();
                found |= below == null || hasMore(parser, below);
                parser.skipChildren();
            }
        } else if (parser.currentToken() == JsonToken.START_OBJECT && type instanceof MapType) {
            while (parser.nextToken() != JsonToken.END_OBJECT) {
                parser.nextToken();
                found |= hasMore(parser, ((MapType) type).valueType());
            }
        } else {
            parser.skipChildren();
        }
        return found;
    }

    private java.util.Map fields(StructType type) {
        if (this.known == null) {
            this.known = new HashMap();
        }
        java.util.Map found = (java.util.Map) this.known.get(type);
        if (found == null) {
            found = new HashMap();
            StructField[] fields = type.fields();
            for (int index = 0; index < fields.length; index++) {
                found.put(fields[index].name(), fields[index].dataType());
            }
            this.known.put(type, found);
        }
        return found;
    }

    private JsonFactory factory() {
        if (this.factory == null) {
            this.factory = new JSONOptions(this.options, "UTC", "").buildJsonFactory();
        }
        return this.factory;
    }
}
