package tidemark.expressions;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
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
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import tidemark.plans.CompiledCall;
import tidemark.plans.Scala;

/**
 * A limit of 64 MiB on the text or bytes of a value that an expression builds for one row. Each array, map, struct,
 * element and member counts as one byte more. A larger value becomes null. Functions with a size argument get null
 * for one beyond the limit, so that they build nothing.
 *
 * @param type the type of the values whose size is limited; null for arguments
 */
public record SizeBound(DataType type) implements Serializable {
    static final int LIMIT = 1 << 26;

    private static final SizeBound OF_ARGUMENTS = new SizeBound(null);
    private static final int TOO_MANY_DIGITS = 8;

    /** Returns the expression, null where its value is too large; unchanged if its type has a fixed size. */
    static Expression limit(Expression value) {
        DataType type = value.dataType();
        return hasSize(type) ? CompiledCall.expression(new SizeBound(type), "limited", type, value) : value;
    }

    /** Returns a call with its size argument limited; unchanged if the function has none. */
    static Expression limitArguments(Expression call) {
        if (call instanceof StringSpace space) {
            return new StringSpace(limitSize(space.child()));
        }
        if (call instanceof StringLPad pad) {
            return new StringLPad(pad.str(), limitSize(pad.len()), pad.pad());
        }
        if (call instanceof StringRPad pad) {
            return new StringRPad(pad.str(), limitSize(pad.len()), pad.pad());
        }
        if (call instanceof StringRepeat repeat) {
            Expression times =
                CompiledCall.expression(OF_ARGUMENTS, "times", DataTypes.IntegerType, repeat.str(), repeat.times());
            return new StringRepeat(repeat.str(), times);
        }
        if (call instanceof ArrayRepeat repeat) {
            return new ArrayRepeat(repeat.left(), limitSize(repeat.right()));
        }
        if (call instanceof ArrayInsert insert) {
            return new ArrayInsert(
                insert.srcArrayExpr(), limitSize(insert.posExpr()), insert.itemExpr(), insert.legacyNegativeIndex());
        }
        if (call instanceof FormatNumber) {
            return limitFormat(call, 1);
        }
        if (call instanceof FormatString) {
            return limitFormat(call, 0);
        }
        if (call instanceof StaticInvoke invoke && List.of("lpad", "rpad").contains(invoke.functionName())) {
            return withChild(call, 1, limitSize(Scala.list(call.children()).get(1)));
        }
        return call;
    }

    private static Expression limitFormat(Expression call, int place) {
        Expression format = Scala.list(call.children()).get(place);
        boolean isText = format.dataType() instanceof StringType;
        return withChild(
            call, place,
            isText ? CompiledCall.expression(OF_ARGUMENTS, "format", DataTypes.StringType, format) : limitSize(format));
    }

    private static Expression limitSize(Expression number) {
        return CompiledCall.expression(OF_ARGUMENTS, "size", number.dataType(), number);
    }

    private static Expression withChild(Expression node, int place, Expression child) {
        List<Expression> children = new ArrayList<>(Scala.list(node.children()));
        children.set(place, child);
        return node.withNewChildren(Scala.seq(children));
    }

    /** Returns a size or position, or null if it is beyond the limit on either side of zero. */
    public Integer size(int number) {
        return number > LIMIT || number < -LIMIT ? null : number;
    }

    /** Returns the number of repetitions, or null if the repeated text would be larger than the limit. */
    public Integer times(UTF8String text, int number) {
        return (long) text.numBytes() * number > LIMIT ? null : number;
    }

    /** Returns a format, or null if it has eight digits in a row, which ask for a width beyond the limit. */
    public UTF8String format(UTF8String text) {
        int digits = 0;
        for (int at = 0; at < text.numBytes() && digits < TOO_MANY_DIGITS; at++) {
            byte character = text.getByte(at);
            digits = character >= '0' && character <= '9' ? digits + 1 : 0;
        }
        return digits < TOO_MANY_DIGITS ? text : null;
    }

    /** Returns the text, or null if it is too large. */
    public UTF8String limited(UTF8String text) {
        return text.numBytes() > LIMIT ? null : text;
    }

    /** Returns the bytes, or null if they are too many. */
    public byte[] limited(byte[] bytes) {
        return bytes.length > LIMIT ? null : bytes;
    }

    /** Returns the array, or null if it is too large. */
    public ArrayData limited(ArrayData values) {
        return left(values, type, LIMIT) < 0 ? null : values;
    }

    /** Returns the map, or null if it is too large. */
    public MapData limited(MapData values) {
        return left(values, type, LIMIT) < 0 ? null : values;
    }

    /** Returns the struct, or null if it is too large. */
    public InternalRow limited(InternalRow values) {
        return left(values, type, LIMIT) < 0 ? null : values;
    }

    private static boolean hasSize(DataType type) {
        return type instanceof StringType || type instanceof BinaryType || type instanceof StructType
            || type instanceof ArrayType || type instanceof MapType;
    }

    /** Returns the bytes that a value leaves of a limit; negative as soon as it exceeds the limit. */
    static long left(Object value, DataType type, long limit) {
        long left = limit - 1;
        if (value == null || left < 0) {
            return left;
        }
        if (value instanceof UTF8String text) {
            return left - text.numBytes();
        }
        if (value instanceof byte[] bytes) {
            return left - bytes.length;
        }
        if (value instanceof ArrayData values) {
            return leftByAll(values, ((ArrayType) type).elementType(), left);
        }
        if (value instanceof MapData map) {
            MapType types = (MapType) type;
            left = leftByAll(map.keyArray(), types.keyType(), left);
            return left < 0 ? left : leftByAll(map.valueArray(), types.valueType(), left);
        }
        if (value instanceof InternalRow row) {
            StructField[] members = ((StructType) type).fields();
            for (int index = 0; index < row.numFields() && left >= 0; index++) {
                DataType member = members[index].dataType();
                left = left(row.get(index, member), member, left);
            }
        }
        return left;
    }

    private static long leftByAll(ArrayData values, DataType element, long limit) {
        if (!hasSize(element)) {
            return limit - values.numElements();
        }
        long left = limit;
        for (int index = 0; index < values.numElements() && left >= 0; index++) {
            left = left(values.get(index, element), element, left);
        }
        return left;
    }
}
