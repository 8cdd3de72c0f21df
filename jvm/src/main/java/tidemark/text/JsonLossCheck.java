package tidemark.text;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Finds the columns of a line of JSON whose value does not survive as their type's, or of which there are two: Spark's
 * parser rounds, cuts, or takes the last. What it refuses itself is not looked for.
 */
final class JsonLossCheck {
    /** What stands for the place of an element or the key of an entry in a name. */
    private static final String ANY = "[]";

    private final StructType schema;
    private final Locale locale;
    private final boolean ownDates;
    private final MemberNames unknown = new MemberNames();
    private final HashMap places = new HashMap();

    /** `ownDates`: days are written in a form with a time of day, which is then meant to be left out. */
    JsonLossCheck(StructType schema, Locale locale, boolean ownDates) {
        this.schema = schema;
        this.locale = locale;
        this.ownDates = ownDates;
    }

    /** The numbers of the columns, up to where the line breaks off. */
    BitSet columns(JsonParser parser) {
        BitSet lost = new BitSet();
        this.unknown.clear();
        try {
            if (parser.nextToken() == JsonToken.START_OBJECT) {
                members(parser, this.schema, "", lost);
            }
            parser.close();
        } catch (IOException broken) {
            return lost;
        } catch (RuntimeException broken) {
            return lost;
        }
        return lost;
    }

    /** The names of members that the schema lacks, of the line that was looked at last; see `MemberNames`. */
    UTF8String unknown() {
        return this.unknown.text();
    }

    /** Members of an object; `path` is what names of its members begin with. */
    private void members(JsonParser parser, StructType type, String path, BitSet lost) throws IOException {
        HashMap known = placesOf(type);
        BitSet seen = new BitSet();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String own = parser.currentName();
            Object place = known.get(own);
            JsonToken token = parser.nextToken();
            if (place == null) {
                this.unknown.add(path + own);
                parser.skipChildren();
                continue;
            }
            int column = ((Integer) place).intValue();
            String name = token != null && token.isStructStart() ? path + own : path;
            if (!survives(parser, token, type.fields()[column].dataType(), name) || seen.get(column)) {
                lost.set(column);
            }
            seen.set(column);
        }
    }

    /** The columns of a type by name. */
    private HashMap placesOf(StructType type) {
        HashMap found = (HashMap) this.places.get(type);
        if (found == null) {
            found = new HashMap();
            StructField[] fields = type.fields();
            for (int index = 0; index < fields.length; index++) {
                found.put(fields[index].name(), Integer.valueOf(index));
            }
            this.places.put(type, found);
        }
        return found;
    }

    /** Whether the value that begins with this token survives; afterwards the parser is at its last token. */
    private boolean survives(JsonParser parser, JsonToken token, DataType type, String name) throws IOException {
        if (type.equals(DataTypes.StringType)) {
            return text(parser, token);
        }
        if (token == JsonToken.START_OBJECT && type instanceof StructType) {
            BitSet lost = new BitSet();
            members(parser, (StructType) type, name + '.', lost);
            return lost.isEmpty();
        }
        if (token == JsonToken.START_OBJECT && type instanceof MapType) {
            return entries(parser, ((MapType) type).valueType(), name);
        }
        if (token == JsonToken.START_ARRAY && type instanceof ArrayType) {
            return elements(parser, ((ArrayType) type).elementType(), name);
        }
        if (token == JsonToken.START_OBJECT || token == JsonToken.START_ARRAY) {
            parser.skipChildren();
            return true;
        }
        if (token == JsonToken.VALUE_STRING) {
            return written(parser, type);
        }
        boolean number = token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT;
        return !number || number(parser, token, type);
    }

    private boolean entries(JsonParser parser, DataType type, String path) throws IOException {
        boolean sound = true;
        HashSet names = new HashSet();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String name = parser.currentName();
            sound &= names.add(name) && LosslessText.text(name);
            sound &= survives(parser, parser.nextToken(), type, path + ANY);
        }
        return sound;
    }

    private boolean elements(JsonParser parser, DataType type, String path) throws IOException {
        boolean sound = true;
        JsonToken token = parser.nextToken();
        while (token != JsonToken.END_ARRAY && token != null) {
            sound &= survives(parser, token, type, path + ANY);
            token = parser.nextToken();
        }
        return sound;
    }

    /** Whatever is to be text: objects, lists and numbers are written out again. */
    private static boolean text(JsonParser parser, JsonToken first) throws IOException {
        boolean sound = true;
        int depth = 0;
        JsonToken token = first;
        while (token != null) {
            if (token == JsonToken.VALUE_STRING || token == JsonToken.FIELD_NAME) {
                sound &= LosslessText.text(parser.getText());
            } else if (token == JsonToken.VALUE_NUMBER_FLOAT) {
                sound &= LosslessText.asDouble(parser.getText());
            }
            depth += token.isStructStart() ? 1 : token.isStructEnd() ? -1 : 0;
            if (depth == 0) {
                return sound;
            }
            token = parser.nextToken();
        }
        return sound;
    }

    private boolean written(JsonParser parser, DataType type) throws IOException {
        if (type instanceof DecimalType) {
            return LosslessText.decimal(parser.getText(), ((DecimalType) type).scale(), this.locale);
        }
        if (type.equals(DataTypes.DateType)) {
            return this.ownDates || LosslessText.date(parser.getText());
        }
        return !type.equals(DataTypes.BinaryType) || LosslessText.base64(parser.getText(), parser.getBinaryValue());
    }

    private static boolean number(JsonParser parser, JsonToken token, DataType type) throws IOException {
        boolean whole = token == JsonToken.VALUE_NUMBER_INT;
        if (type instanceof DecimalType) {
            return LosslessText.decimal(parser.getText(), ((DecimalType) type).scale(), Locale.US);
        }
        if (type.equals(DataTypes.ByteType)) {
            return !whole || parser.getIntValue() == (byte) parser.getIntValue();
        }
        boolean single = type.equals(DataTypes.FloatType);
        return (!single && !type.equals(DataTypes.DoubleType)) || LosslessText.real(parser.getText(), single);
    }
}
