package tidemark.expressions;

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
import tidemark.plans.Invoked;

/**
 * A value that is about to be read as one of another type, as it is, unless a text within it would be read as a time
 * and is a time of day: Spark would complete that with today's date. Then it raises `Dayless`.
 */
public final class Dated implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final Pattern SPECIAL =
        Pattern.compile("^\\s*(now|today|yesterday|tomorrow)\\b", Pattern.CASE_INSENSITIVE);

    private final DataType from;
    private final DataType to;

    private Dated(DataType from, DataType to) {
        this.from = from;
        this.to = to;
    }

    /** Whether a value of one type, read as another, has texts that are read as times. */
    static boolean reads(DataType from, DataType to) {
        if (from instanceof StringType) {
            return to instanceof TimestampType;
        }
        if (from instanceof ArrayType && to instanceof ArrayType) {
            return reads(((ArrayType) from).elementType(), ((ArrayType) to).elementType());
        }
        if (from instanceof MapType && to instanceof MapType) {
            return reads(((MapType) from).keyType(), ((MapType) to).keyType())
                || reads(((MapType) from).valueType(), ((MapType) to).valueType());
        }
        boolean found = false;
        if (from instanceof StructType && to instanceof StructType) {
            for (int index = 0; index < ((StructType) from).length(); index++) {
                found = found || reads(type(from, index), type(to, index));
            }
        }
        return found;
    }

    /** The guarded expression. */
    static Expression guarded(Expression value, DataType to) {
        Object guard = new Dated(value.dataType(), to);
        return Invoked.expression(guard, "of", value.dataType(), new Expression[] {value});
    }

    /** Whether a text expression says no date. */
    static Expression dayless(Expression text) {
        Object guard = new Dated(text.dataType(), DataTypes.TimestampType);
        return Invoked.expression(guard, "isDayless", DataTypes.BooleanType, new Expression[] {text});
    }

    /** Whether values of a type have times within. */
    static boolean hasTimes(DataType type) {
        if (type instanceof ArrayType) {
            return hasTimes(((ArrayType) type).elementType());
        }
        if (type instanceof MapType) {
            return hasTimes(((MapType) type).keyType()) || hasTimes(((MapType) type).valueType());
        }
        boolean found = type instanceof TimestampType;
        if (type instanceof StructType) {
            for (int index = 0; index < ((StructType) type).length(); index++) {
                found = found || hasTimes(type(type, index));
            }
        }
        return found;
    }

    /** Whether a text is one of the words that Spark reads as a time, if an expression is constant. */
    static boolean isSpecial(UTF8String text) {
        return SPECIAL.matcher(text.toString()).find();
    }

    /** Whether a text says no date, and would be read as a time of today, whenever that is. */
    static boolean isTimeOfDay(UTF8String text) {
        int at = 0;
        int end = text.numBytes();
        while (at < end && blank(text.getByte(at))) {
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

    public boolean isDayless(UTF8String text) {
        return isTimeOfDay(text);
    }

    public UTF8String of(UTF8String text) {
        check(text, this.from, this.to);
        return text;
    }

    public ArrayData of(ArrayData values) {
        check(values, this.from, this.to);
        return values;
    }

    public MapData of(MapData values) {
        check(values, this.from, this.to);
        return values;
    }

    public InternalRow of(InternalRow values) {
        check(values, this.from, this.to);
        return values;
    }

    private static void check(Object value, DataType from, DataType to) {
        if (value == null || !reads(from, to)) {
            return;
        }
        if (value instanceof UTF8String) {
            if (isTimeOfDay((UTF8String) value)) {
                throw Dayless.FOUND;
            }
        } else if (value instanceof ArrayData) {
            checkAll((ArrayData) value, ((ArrayType) from).elementType(), ((ArrayType) to).elementType());
        } else if (value instanceof MapData) {
            MapType one = (MapType) from;
            MapType other = (MapType) to;
            checkAll(((MapData) value).keyArray(), one.keyType(), other.keyType());
            checkAll(((MapData) value).valueArray(), one.valueType(), other.valueType());
        } else {
            InternalRow row = (InternalRow) value;
            for (int index = 0; index < row.numFields(); index++) {
                check(row.get(index, type(from, index)), type(from, index), type(to, index));
            }
        }
    }

    private static void checkAll(ArrayData values, DataType from, DataType to) {
        if (reads(from, to)) {
            for (int index = 0; index < values.numElements(); index++) {
                check(values.get(index, from), from, to);
            }
        }
    }

    private static boolean blank(byte one) {
        return (one >= 0 && one <= 32) || one == 127;
    }

    private static DataType type(DataType struct, int index) {
        return ((StructType) struct).fields()[index].dataType();
    }

    public boolean equals(Object other) {
        return other instanceof Dated && from.equals(((Dated) other).from) && to.equals(((Dated) other).to);
    }

    public int hashCode() {
        return 31 * from.hashCode() + to.hashCode();
    }
}
