package tidemark.text;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Finds the columns whose value in a JSON line changes when Spark's parser gives it the column's type (by the rules
 * of `LosslessText`), and those that the line has twice, of which the parser takes the last. Values that the parser
 * refuses are not looked for.
 */
final class JsonLossCheck {
    /** Replaces the place of an element or the key of an entry in a member's name. */
    private static final String ANY = "[]";

    private final StructType schema;
    private final Locale locale;
    private final boolean datesHaveHours;
    private final MemberNames unknown = new MemberNames();
    private final Map<StructType, Map<String, Integer>> positions = new HashMap<>();

    /**
     * Takes the columns of a line and the settings of a reader. Members with the names of columns that are `added` to
     * those of the line are members that the schema lacks.
     */
    JsonLossCheck(StructType schema, JsonSettings settings, Collection<String> added) {
        this(schema, settings.locale(), settings.datesHaveHours());
        positions(schema).keySet().removeAll(added);
    }

    /**
     * Takes the settings of a reader.
     *
     * @param schema the columns of a line
     * @param locale the locale that decimals in quotes are written for
     * @param datesHaveHours true if dates are written with a time of day, which is then meant to be left out
     */
    JsonLossCheck(StructType schema, Locale locale, boolean datesHaveHours) {
        this.schema = schema;
        this.locale = locale;
        this.datesHaveHours = datesHaveHours;
    }

    /** Returns the positions of the columns, up to where the line no longer parses, and closes the parser. */
    BitSet lostColumns(JsonParser parser) {
        var lost = new BitSet();
        this.unknown.clear();
        try {
            if (parser.nextToken() == JsonToken.START_OBJECT) {
                checkMembers(parser, this.schema, "", lost);
            }
            parser.close();
        } catch (IOException | RuntimeException broken) {
            return lost;
        }
        return lost;
    }

    /** Returns the names of members of the last line that the schema lacks, as `MemberNames` writes them, or null. */
    UTF8String unknownMembers() {
        return this.unknown.text();
    }

    /** Adds the positions of lost members of an object; `path` is the beginning of their names. */
    private void checkMembers(JsonParser parser, StructType type, String path, BitSet lost) throws IOException {
        Map<String, Integer> known = positions(type);
        var seen = new BitSet();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String name = parser.currentName();
            Integer position = known.get(name);
            JsonToken token = parser.nextToken();
            if (position == null) {
                this.unknown.add(path + name);
                parser.skipChildren();
                continue;
            }
            int column = position;
            String below = token != null && token.isStructStart() ? path + name : path;
            if (!isKept(parser, token, type.fields()[column].dataType(), below) || seen.get(column)) {
                lost.set(column);
            }
            seen.set(column);
        }
    }

    /** Returns the positions of a struct's fields by name. */
    private Map<String, Integer> positions(StructType type) {
        Map<String, Integer> found = this.positions.get(type);
        if (found == null) {
            found = new HashMap<>();
            StructField[] fields = type.fields();
            for (int index = 0; index < fields.length; index++) {
                found.put(fields[index].name(), index);
            }
            this.positions.put(type, found);
        }
        return found;
    }

    /** Returns true if the value that begins with this token is kept, and moves the parser to its last token. */
    private boolean isKept(JsonParser parser, JsonToken token, DataType type, String name) throws IOException {
        if (type.equals(DataTypes.StringType)) {
            return isTextKept(parser, token);
        }
        if (token == JsonToken.START_OBJECT && type instanceof StructType struct) {
            var lost = new BitSet();
            checkMembers(parser, struct, name + '.', lost);
            return lost.isEmpty();
        }
        if (token == JsonToken.START_OBJECT && type instanceof MapType map) {
            return areEntriesKept(parser, map.valueType(), name);
        }
        if (token == JsonToken.START_ARRAY && type instanceof ArrayType array) {
            return areElementsKept(parser, array.elementType(), name);
        }
        if (token == JsonToken.START_OBJECT || token == JsonToken.START_ARRAY) {
            parser.skipChildren();
            return true;
        }
        if (token == JsonToken.VALUE_STRING) {
            return isQuotedKept(parser, type);
        }
        boolean number = token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT;
        return !number || isNumberKept(parser, token, type);
    }

    private boolean areEntriesKept(JsonParser parser, DataType type, String path) throws IOException {
        boolean kept = true;
        Set<String> names = new HashSet<>();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String name = parser.currentName();
            kept &= names.add(name) && LosslessText.fitsUtf8(name);
            kept &= isKept(parser, parser.nextToken(), type, path + ANY);
        }
        return kept;
    }

    private boolean areElementsKept(JsonParser parser, DataType type, String path) throws IOException {
        boolean kept = true;
        JsonToken token = parser.nextToken();
        while (token != JsonToken.END_ARRAY && token != null) {
            kept &= isKept(parser, token, type, path + ANY);
            token = parser.nextToken();
        }
        return kept;
    }

    /** Returns true if the value is kept as text: objects, lists and numbers are written anew. */
    private static boolean isTextKept(JsonParser parser, JsonToken first) throws IOException {
        boolean kept = true;
        int depth = 0;
        JsonToken token = first;
        while (token != null) {
            if (token == JsonToken.VALUE_STRING || token == JsonToken.FIELD_NAME) {
                kept &= LosslessText.fitsUtf8(parser.getText());
            } else if (token == JsonToken.VALUE_NUMBER_FLOAT) {
                kept &= LosslessText.keepsValueAsDouble(parser.getText());
            }
            depth += token.isStructStart() ? 1 : token.isStructEnd() ? -1 : 0;
            if (depth == 0) {
                return kept;
            }
            token = parser.nextToken();
        }
        return kept;
    }

    private boolean isQuotedKept(JsonParser parser, DataType type) throws IOException {
        if (type instanceof DecimalType decimal) {
            return LosslessText.fitsDecimal(parser.getText(), decimal.scale(), this.locale);
        }
        if (type.equals(DataTypes.DateType)) {
            return this.datesHaveHours || LosslessText.fitsDate(parser.getText());
        }
        return !type.equals(DataTypes.BinaryType)
            || LosslessText.fitsBase64(parser.getText(), parser.getBinaryValue());
    }

    private static boolean isNumberKept(JsonParser parser, JsonToken token, DataType type) throws IOException {
        if (type instanceof DecimalType decimal) {
            return LosslessText.fitsDecimal(parser.getText(), decimal.scale(), Locale.US);
        }
        if (type.equals(DataTypes.ByteType)) {
            return token != JsonToken.VALUE_NUMBER_INT || parser.getIntValue() == (byte) parser.getIntValue();
        }
        boolean single = type.equals(DataTypes.FloatType);
        return (!single && !type.equals(DataTypes.DoubleType)) || LosslessText.fitsFloating(parser.getText(), single);
    }
}
