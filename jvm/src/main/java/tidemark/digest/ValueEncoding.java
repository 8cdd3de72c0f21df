package tidemark.digest;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Comparator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.CalendarIntervalType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.sql.types.YearMonthIntervalType;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

/** How values of a type are written as bytes for their digest, and the type's name there (docs/digest.md). */
final class ValueEncoding implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final int BOOLEAN = 1;
    private static final int BYTE = 2;
    private static final int SHORT = 3;
    private static final int INT = 4;
    private static final int LONG = 5;
    private static final int FLOAT = 6;
    private static final int DOUBLE = 7;
    private static final int DECIMAL = 8;
    private static final int STRING = 9;
    private static final int BINARY = 10;
    private static final int INTERVAL = 11;
    private static final int VARIANT = 12;
    private static final int ARRAY = 13;
    private static final int MAP = 14;
    private static final int STRUCT = 15;
    private static final int NOTHING = 16;
    private static final int WORD = 64;

    /** The name of the type. */
    final String name;
    private final int kind;
    private final DataType type;
    private final ValueEncoding[] parts;

    private ValueEncoding(String name, int kind, DataType type, ValueEncoding[] parts) {
        this.name = name;
        this.kind = kind;
        this.type = type;
        this.parts = parts;
    }

    /** The form of a type; an error for one that has none. */
    static ValueEncoding of(DataType type) {
        if (type instanceof ArrayType) {
            ValueEncoding element = of(((ArrayType) type).elementType());
            return new ValueEncoding("array<" + element.name + ">", ARRAY, type, new ValueEncoding[] {element});
        }
        if (type instanceof MapType) {
            ValueEncoding key = of(((MapType) type).keyType());
            ValueEncoding value = of(((MapType) type).valueType());
            return new ValueEncoding("map<" + key.name + "," + value.name + ">", MAP, type, new ValueEncoding[] {key, value});
        }
        if (type instanceof StructType) {
            StructField[] fields = ((StructType) type).fields();
            ValueEncoding[] parts = new ValueEncoding[fields.length];
            StringBuilder name = new StringBuilder("struct<");
            for (int index = 0; index < fields.length; index++) {
                parts[index] = of(fields[index].dataType());
                int length = fields[index].name().getBytes(StandardCharsets.UTF_8).length;
                name.append(length).append(':').append(fields[index].name()).append(parts[index].name).append(';');
            }
            return new ValueEncoding(name.append('>').toString(), STRUCT, type, parts);
        }
        if (type instanceof DecimalType) {
            DecimalType decimal = (DecimalType) type;
            return new ValueEncoding("decimal(" + decimal.precision() + "," + decimal.scale() + ")", DECIMAL, type, null);
        }
        return flat(type);
    }

    private static ValueEncoding flat(DataType type) {
        if (type instanceof LongType) {
            return new ValueEncoding("bigint", LONG, type, null);
        } else if (type instanceof TimestampType) {
            return new ValueEncoding("timestamp", LONG, type, null);
        } else if (type instanceof TimestampNTZType) {
            return new ValueEncoding("timestamp_ntz", LONG, type, null);
        } else if (type instanceof DayTimeIntervalType) {
            return new ValueEncoding("interval_day_time", LONG, type, null);
        } else if (type instanceof IntegerType) {
            return new ValueEncoding("int", INT, type, null);
        } else if (type instanceof DateType) {
            return new ValueEncoding("date", INT, type, null);
        } else if (type instanceof YearMonthIntervalType) {
            return new ValueEncoding("interval_year_month", INT, type, null);
        } else if (type instanceof StringType) {
            return new ValueEncoding("string", STRING, type, null);
        } else if (type instanceof DoubleType) {
            return new ValueEncoding("double", DOUBLE, type, null);
        } else if (type instanceof FloatType) {
            return new ValueEncoding("float", FLOAT, type, null);
        } else if (type instanceof BooleanType) {
            return new ValueEncoding("boolean", BOOLEAN, type, null);
        } else if (type instanceof ShortType) {
            return new ValueEncoding("smallint", SHORT, type, null);
        } else if (type instanceof ByteType) {
            return new ValueEncoding("tinyint", BYTE, type, null);
        } else if (type instanceof BinaryType) {
            return new ValueEncoding("binary", BINARY, type, null);
        } else if (type instanceof CalendarIntervalType) {
            return new ValueEncoding("interval", INTERVAL, type, null);
        } else if (type instanceof VariantType) {
            return new ValueEncoding("variant", VARIANT, type, null);
        } else if (type instanceof NullType) {
            return new ValueEncoding("void", NOTHING, type, null);
        }
        throw new IllegalArgumentException("values of the type " + type.sql() + " have no digest");
    }

    /** The values of a row, one after the other. */
    void putAll(SpecializedGetters row, ByteWriter out) {
        for (int index = 0; index < this.parts.length; index++) {
            this.parts[index].put(row, index, out);
        }
    }

    /** Whether there is a value, and the value. */
    private void put(SpecializedGetters from, int at, ByteWriter out) {
        if (from.isNullAt(at)) {
            out.putByte(0);
            return;
        }
        out.putByte(1);
        switch (this.kind) {
            case BOOLEAN:
                out.putByte(from.getBoolean(at) ? 1 : 0);
                break;
            case BYTE:
                out.putLong(from.getByte(at));
                break;
            case SHORT:
                out.putLong(from.getShort(at));
                break;
            case INT:
                out.putLong(from.getInt(at));
                break;
            case LONG:
                out.putLong(from.getLong(at));
                break;
            case FLOAT:
                out.putInt(Float.floatToIntBits(from.getFloat(at)));
                break;
            case DOUBLE:
                out.putLong(Double.doubleToLongBits(from.getDouble(at)));
                break;
            case STRING:
                UTF8String text = from.getUTF8String(at);
                out.putBytes(text.getBaseObject(), text.getBaseOffset(), text.numBytes());
                break;
            case BINARY:
                out.putBytes(from.getBinary(at));
                break;
            default:
                putOther(from, at, out);
        }
    }

    private void putOther(SpecializedGetters from, int at, ByteWriter out) {
        switch (this.kind) {
            case DECIMAL:
                putDecimal(from, at, out);
                break;
            case INTERVAL:
                CalendarInterval span = from.getInterval(at);
                out.putLong(span.months);
                out.putLong(span.days);
                out.putLong(span.microseconds);
                break;
            case VARIANT:
                VariantVal variant = from.getVariant(at);
                out.putBytes(variant.getValue());
                out.putBytes(variant.getMetadata());
                break;
            case ARRAY:
                ArrayData array = from.getArray(at);
                out.putLong(array.numElements());
                for (int index = 0; index < array.numElements(); index++) {
                    this.parts[0].put(array, index, out);
                }
                break;
            case MAP:
                putMap(from.getMap(at), out);
                break;
            case STRUCT:
                InternalRow row = from.getStruct(at, this.parts.length);
                putAll(row, out);
                break;
            default:
                throw new IllegalStateException("there is a value of the type " + this.type.sql());
        }
    }

    /** The unscaled number in 128 bits. */
    private void putDecimal(SpecializedGetters from, int at, ByteWriter out) {
        DecimalType decimal = (DecimalType) this.type;
        Decimal value = from.getDecimal(at, decimal.precision(), decimal.scale());
        if (decimal.precision() <= Decimal.MAX_LONG_DIGITS() && value.scale() == decimal.scale()) {
            long unscaled = value.toUnscaledLong();
            out.putLong(unscaled);
            out.putLong(unscaled >> (WORD - 1));
            return;
        }
        java.math.BigInteger unscaled = value.toJavaBigDecimal().setScale(decimal.scale()).unscaledValue();
        out.putLong(unscaled.longValue());
        out.putLong(unscaled.shiftRight(WORD).longValue());
    }

    /** Entries in the order of their bytes, whatever order they have in the map. */
    private void putMap(MapData map, ByteWriter out) {
        int count = map.numElements();
        out.putLong(count);
        ArrayData keys = map.keyArray();
        ArrayData values = map.valueArray();
        int begin = out.size;
        int[][] entries = new int[count][];
        for (int index = 0; index < count; index++) {
            int from = out.size - begin;
            this.parts[0].put(keys, index, out);
            this.parts[1].put(values, index, out);
            entries[index] = new int[] {from, out.size - begin};
        }
        if (count < 2) {
            return;
        }
        final byte[] unordered = Arrays.copyOfRange(out.written, begin, out.size);
        Arrays.sort(entries, new Comparator() {
            public int compare(Object one, Object other) {
                int[] a = (int[]) one;
                int[] b = (int[]) other;
                return Arrays.compareUnsigned(unordered, a[0], a[1], unordered, b[0], b[1]);
            }
        });
        int to = begin;
        for (int index = 0; index < count; index++) {
            int length = entries[index][1] - entries[index][0];
            System.arraycopy(unordered, entries[index][0], out.written, to, length);
            to += length;
        }
    }
}
