package tidemark.expressions;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.ArrayInsert;
import org.apache.spark.sql.catalyst.expressions.ArrayRepeat;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FormatNumber;
import org.apache.spark.sql.catalyst.expressions.FormatString;
import org.apache.spark.sql.catalyst.expressions.StringLPad;
import org.apache.spark.sql.catalyst.expressions.StringRPad;
import org.apache.spark.sql.catalyst.expressions.StringRepeat;
import org.apache.spark.sql.catalyst.expressions.StringSpace;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import tidemark.plans.Invoked;

/**
 * A bound on what an expression may build of one row: 64 MiB of text or bytes, where an element of an array and a
 * member of a struct count as one. What would be larger is null, and functions that are told a size build nothing
 * beyond it.
 */
public final class Bounded implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final int MOST = 1 << 26;

    private final DataType type;

    private Bounded(DataType type) {
        this.type = type;
    }

    /** A value of text, bytes or parts, or null where it is too large; others as they are. */
    static Expression whole(Expression value) {
        DataType type = value.dataType();
        boolean sized = type instanceof StringType || type instanceof BinaryType || type instanceof StructType
            || type instanceof ArrayType || type instanceof MapType;
        return sized ? Invoked.expression(new Bounded(type), "kept", type, new Expression[] {value}) : value;
    }

    /** A call with its size bounded, if it is of a function that is told one. */
    static Expression told(Expression call) {
        if (call instanceof StringSpace) {
            return new StringSpace(size(Sound.array(call.children())[0]));
        }
        if (call instanceof StringLPad) {
            StringLPad pad = (StringLPad) call;
            return new StringLPad(pad.str(), size(pad.len()), pad.pad());
        }
        if (call instanceof StringRPad) {
            StringRPad pad = (StringRPad) call;
            return new StringRPad(pad.str(), size(pad.len()), pad.pad());
        }
        if (call instanceof StringRepeat) {
            StringRepeat repeat = (StringRepeat) call;
            Expression[] given = {repeat.str(), repeat.times()};
            Expression times = Invoked.expression(new Bounded(null), "times", DataTypes.IntegerType, given);
            return new StringRepeat(repeat.str(), times);
        }
        if (call instanceof ArrayRepeat) {
            return new ArrayRepeat(Sound.array(call.children())[0], size(Sound.array(call.children())[1]));
        }
        if (call instanceof ArrayInsert) {
            ArrayInsert insert = (ArrayInsert) call;
            Expression place = size(insert.posExpr());
            return new ArrayInsert(insert.srcArrayExpr(), place, insert.itemExpr(), insert.legacyNegativeIndex());
        }
        if (call instanceof FormatNumber || call instanceof FormatString) {
            return formatted(call);
        }
        return padded(call);
    }

    private static Expression formatted(Expression call) {
        Expression[] children = Sound.array(call.children());
        int place = call instanceof FormatNumber ? 1 : 0;
        Expression format = children[place];
        if (format.dataType() instanceof StringType) {
            Expression[] given = {format};
            children[place] = Invoked.expression(new Bounded(null), "format", DataTypes.StringType, given);
        } else {
            children[place] = size(format);
        }
        return (Expression) call.withNewChildren(Sound.seq(children));
    }

    private static Expression padded(Expression call) {
        if (!(call instanceof StaticInvoke)) {
            return call;
        }
        StaticInvoke made = (StaticInvoke) call;
        if (!made.functionName().equals("lpad") && !made.functionName().equals("rpad")) {
            return call;
        }
        Expression[] children = Sound.array(made.children());
        children[1] = size(children[1]);
        return (Expression) made.withNewChildren(Sound.seq(children));
    }

    private static Expression size(Expression number) {
        return Invoked.expression(new Bounded(null), "size", number.dataType(), new Expression[] {number});
    }

    public Integer size(int number) {
        return number > MOST || number < -MOST ? null : Integer.valueOf(number);
    }

    public Integer times(UTF8String text, int number) {
        return (long) text.numBytes() * number > MOST ? null : Integer.valueOf(number);
    }

    /** A format, or null where it asks for a width of eight digits. */
    public UTF8String format(UTF8String text) {
        int digits = 0;
        for (int at = 0; at < text.numBytes() && digits < 8; at++) {
            byte one = text.getByte(at);
            digits = one >= '0' && one <= '9' ? digits + 1 : 0;
        }
        return digits < 8 ? text : null;
    }

    public UTF8String kept(UTF8String text) {
        return text.numBytes() > MOST ? null : text;
    }

    public byte[] kept(byte[] bytes) {
        return bytes.length > MOST ? null : bytes;
    }

    public ArrayData kept(ArrayData values) {
        return left(values, this.type, MOST) < 0 ? null : values;
    }

    public MapData kept(MapData values) {
        return left(values, this.type, MOST) < 0 ? null : values;
    }

    public InternalRow kept(InternalRow values) {
        return left(values, this.type, MOST) < 0 ? null : values;
    }

    /** What a value leaves of a bound, below zero as soon as it is beyond it. */
    private static long left(Object value, DataType type, long most) {
        long left = most - 1;
        if (value == null || left < 0) {
            return left;
        }
        if (value instanceof UTF8String) {
            return left - ((UTF8String) value).numBytes();
        }
        if (value instanceof byte[]) {
            return left - ((byte[]) value).length;
        }
        if (value instanceof ArrayData) {
            return leftOfAll((ArrayData) value, ((ArrayType) type).elementType(), left);
        }
        if (value instanceof MapData) {
            left = leftOfAll(((MapData) value).keyArray(), ((MapType) type).keyType(), left);
            return left < 0 ? left : leftOfAll(((MapData) value).valueArray(), ((MapType) type).valueType(), left);
        }
        if (value instanceof InternalRow) {
            for (int index = 0; index < ((InternalRow) value).numFields() && left >= 0; index++) {
                DataType member = ((StructType) type).fields()[index].dataType();
                left = left(((InternalRow) value).get(index, member), member, left);
            }
        }
        return left;
    }

    private static long leftOfAll(ArrayData values, DataType element, long most) {
        boolean sized = element instanceof StringType || element instanceof BinaryType
            || element instanceof StructType || element instanceof ArrayType || element instanceof MapType;
        if (!sized) {
            return most - values.numElements();
        }
        long left = most;
        for (int index = 0; index < values.numElements() && left >= 0; index++) {
            left = left(values.get(index, element), element, left);
        }
        return left;
    }

    public boolean equals(Object other) {
        return other instanceof Bounded
            && (this.type == null ? ((Bounded) other).type == null : this.type.equals(((Bounded) other).type));
    }

    public int hashCode() {
        return this.type == null ? 0 : this.type.hashCode();
    }
}
