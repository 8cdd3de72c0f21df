package tidemark.text;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/**
 * Keeps the members of a JSON object that a schema has no place for, as an object with their text in the row: those
 * without a column, and those with something inside that their column's type lacks.
 */
public final class UnknownMembers implements Serializable {
    private static final long serialVersionUID = 1L;

    private final DataType schema;
    private final scala.collection.immutable.Map<String, String> options;
    private transient JsonFactory factory;
    private transient Map<StructType, Map<String, DataType>> known;

    /** Takes the schema, a struct, and Spark's options for JSON. */
    UnknownMembers(DataType schema, scala.collection.immutable.Map<String, String> options) {
        this.schema = schema;
        this.options = options;
    }

    /**
     * Returns the members as a column of text, from one of rows.
     *
     * @param schema the columns in Spark's DDL
     * @param options Spark's options for JSON
     */
    public static Column function(
            Seq<Column> row, String schema, scala.collection.immutable.Map<String, String> options) {
        var members = new UnknownMembers(DataType.fromDDL(schema), options);
        return Invoked.plain(members, "evaluate", DataTypes.StringType, row);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof UnknownMembers it && it.schema.equals(this.schema) && it.options.equals(this.options);
    }

    @Override
    public int hashCode() {
        return this.schema.hashCode();
    }

    /**
     * Returns the members of a row, which is not null, as an object; null without any, or if the row does not parse.
     */
    public UTF8String evaluate(UTF8String row) {
        ByteBuffer bytes = row.getByteBuffer();
        try (JsonParser parser = JsonSettings.open(factory(), row)) {
            return members(parser, bytes.array(), bytes.arrayOffset() + bytes.position());
        } catch (IOException broken) {
            return null;
        }
    }

    private UTF8String members(JsonParser parser, byte[] bytes, int base) throws IOException {
        if (parser.nextToken() != JsonToken.START_OBJECT) {
            return null;
        }
        var found = new StringBuilder();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            long from = parser.currentTokenLocation().getByteOffset();
            DataType type = types((StructType) this.schema).get(parser.currentName());
            parser.nextToken();
            boolean unknown = type == null || hasUnknown(parser, type);
            parser.skipChildren();
            parser.finishToken();
            long to = parser.currentLocation().getByteOffset();
            if (from < 0) {
                return null;
            }
            if (unknown) {
                var text = new String(bytes, base + (int) from, (int) (to - from), StandardCharsets.UTF_8);
                found.append(found.isEmpty() ? '{' : ',').append(text.strip());
            }
        }
        return found.isEmpty() ? null : UTF8String.fromString(found.append('}').toString());
    }

    /**
     * Returns true if the value that begins here has a member that its type lacks; the parser passes over the value.
     */
    private boolean hasUnknown(JsonParser parser, DataType type) throws IOException {
        boolean found = false;
        if (parser.currentToken() == JsonToken.START_ARRAY && type instanceof ArrayType array) {
            while (parser.nextToken() != JsonToken.END_ARRAY) {
                found |= hasUnknown(parser, array.elementType());
            }
        } else if (parser.currentToken() == JsonToken.START_OBJECT && type instanceof StructType struct) {
            Map<String, DataType> types = types(struct);
            while (parser.nextToken() != JsonToken.END_OBJECT) {
                DataType below = types.get(parser.currentName());
                parser.nextToken();
                found |= below == null || hasUnknown(parser, below);
                parser.skipChildren();
            }
        } else if (parser.currentToken() == JsonToken.START_OBJECT && type instanceof MapType map) {
            while (parser.nextToken() != JsonToken.END_OBJECT) {
                parser.nextToken();
                found |= hasUnknown(parser, map.valueType());
            }
        } else {
            parser.skipChildren();
        }
        return found;
    }

    /** Returns the types of a struct's fields by name. */
    private Map<String, DataType> types(StructType struct) {
        if (this.known == null) {
            this.known = new HashMap<>();
        }
        Map<String, DataType> types = this.known.get(struct);
        if (types == null) {
            types = new HashMap<>();
            for (StructField field : struct.fields()) {
                types.put(field.name(), field.dataType());
            }
            this.known.put(struct, types);
        }
        return types;
    }

    private JsonFactory factory() {
        if (this.factory == null) {
            this.factory = new JsonSettings(this.options).factory();
        }
        return this.factory;
    }
}
