package tidemark.expressions;

import java.io.Serializable;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;
import tidemark.plans.CompiledCall;

/**
 * A guard of values that are about to be cast. A text that would be read as a time, and is a time of day alone, would
 * get the date of today from Spark; the guard throws `TimeWithoutDay` instead. Other values pass unchanged.
 *
 * @param from the type of the values
 * @param to the type that they are cast to
 */
public record TimeTextGuard(DataType from, DataType to) implements Serializable {
    private static final Pattern SPECIAL =
        Pattern.compile("^\\s*(now|today|yesterday|tomorrow)\\b", Pattern.CASE_INSENSITIVE);

    /** Returns true if a cast between these types reads texts as times, at any depth. */
    static boolean readsTimes(DataType from, DataType to) {
        if (from instanceof StringType) {
            return to instanceof TimestampType;
        }
        if (from instanceof ArrayType one && to instanceof ArrayType other) {
            return readsTimes(one.elementType(), other.elementType());
        }
        if (from instanceof MapType one && to instanceof MapType other) {
            return readsTimes(one.keyType(), other.keyType()) || readsTimes(one.valueType(), other.valueType());
        }
        if (from instanceof StructType one && to instanceof StructType) {
            for (int index = 0; index < one.length(); index++) {
                if (readsTimes(member(from, index), member(to, index))) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Returns true if values of a type are times or have times within. */
    static boolean hasTimes(DataType type) {
        if (type instanceof ArrayType array) {
            return hasTimes(array.elementType());
        }
        if (type instanceof MapType map) {
            return hasTimes(map.keyType()) || hasTimes(map.valueType());
        }
        if (type instanceof StructType struct) {
            for (int index = 0; index < struct.length(); index++) {
                if (hasTimes(member(struct, index))) {
                    return true;
                }
            }
        }
        return type instanceof TimestampType;
    }

    /** Returns an expression with the value of another, which throws where the guard does. */
    static Expression guard(Expression value, DataType to) {
        var guard = new TimeTextGuard(value.dataType(), to);
        return CompiledCall.expression(guard, "guarded", value.dataType(), value);
    }

    /** Returns an expression that is true where a text is a time of day alone. */
    static Expression isWithoutDay(Expression text) {
        var guard = new TimeTextGuard(text.dataType(), DataTypes.TimestampType);
        return CompiledCall.expression(guard, "isWithoutDay", DataTypes.BooleanType, text);
    }

    /** Returns true if a text begins with a word that Spark reads as a time: now, today, yesterday or tomorrow. */
    static boolean isSpecial(UTF8String text) {
        return SPECIAL.matcher(text.toString()).find();
    }

    /** Returns true if a text is a time of day alone, so that Spark would read it as a time of today. */
    static boolean isTimeOfDay(UTF8String text) {
        int at = 0;
        int end = text.numBytes();
        while (at < end && isBlank(text.getByte(at))) {
            at++;
        }
        if (at < end && text.getByte(at) == 'T') {
            return true;
        }
        int digits = 0;
        while (at < end && digits < 2 && text.getByte(at) >= '0' && text.getByte(at) <= '9') {
            at++;
            digits++;
        }
        return digits > 0 && at < end && text.getByte(at) == ':';
    }

    /** Returns true if a text is a time of day alone. */
    public boolean isWithoutDay(UTF8String text) {
        return isTimeOfDay(text);
    }

    /** Returns the text, or throws `TimeWithoutDay`. */
    public UTF8String guarded(UTF8String text) {
        check(text, from, to);
        return text;
    }

    /** Returns the array, or throws `TimeWithoutDay`. */
    public ArrayData guarded(ArrayData values) {
        check(values, from, to);
        return values;
    }

    /** Returns the map, or throws `TimeWithoutDay`. */
    public MapData guarded(MapData values) {
        check(values, from, to);
        return values;
    }

    /** Returns the struct, or throws `TimeWithoutDay`. */
    public InternalRow guarded(InternalRow values) {
        check(values, from, to);
        return values;
    }

    private static void check(Object value, DataType from, DataType to) {
        if (value == null || !readsTimes(from, to)) {
            return;
        }
        if (value instanceof UTF8String text) {
            if (isTimeOfDay(text)) {
                throw TimeWithoutDay.FOUND;
            }
        } else if (value instanceof ArrayData values) {
            checkAll(values, ((ArrayType) from).elementType(), ((ArrayType) to).elementType());
        } else if (value instanceof MapData values) {
            checkAll(values.keyArray(), ((MapType) from).keyType(), ((MapType) to).keyType());
            checkAll(values.valueArray(), ((MapType) from).valueType(), ((MapType) to).valueType());
        } else {
            InternalRow row = (InternalRow) value;
            for (int index = 0; index < row.numFields(); index++) {
                DataType member = member(from, index);
                check(row.get(index, member), member, member(to, index));
            }
        }
    }

    private static void checkAll(ArrayData values, DataType from, DataType to) {
        if (readsTimes(from, to)) {
            for (int index = 0; index < values.numElements(); index++) {
                check(values.get(index, from), from, to);
            }
        }
    }

    /** Returns true for the bytes that Spark trims: the space and ASCII controls. */
    private static boolean isBlank(byte character) {
        return (character >= 0 && character <= 32) || character == 127;
    }

    private static DataType member(DataType struct, int index) {
        return ((StructType) struct).fields()[index].dataType();
    }
}
