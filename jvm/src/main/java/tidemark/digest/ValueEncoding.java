package tidemark.digest;

import java.io.Serializable;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
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

/** The encoding of a type's values as bytes for their digest, with the type's name there (docs/digest.md). */
final class ValueEncoding implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Kinds of encoding. They are numbers, since each value passes a switch and one over an enum takes longer. */
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
    private static final int VOID = 16;

    private final String name;
    private final int kind;
    private final DataType type;
    /** Encodings of an array's elements, of a map's keys and values, or of a struct's fields; else empty. */
    private final ValueEncoding[] parts;

    private ValueEncoding(String name, int kind, DataType type, ValueEncoding... parts) {
        this.name = name;
        this.kind = kind;
        this.type = type;
        this.parts = parts;
    }

    /** Returns the encoding of a type. Raises IllegalArgumentException if the type has none. */
    static ValueEncoding of(DataType type) {
        if (type instanceof ArrayType array) {
            ValueEncoding element = of(array.elementType());
            return new ValueEncoding("array<" + element.name + ">", ARRAY, type, element);
        }
        if (type instanceof MapType map) {
            ValueEncoding key = of(map.keyType());
            ValueEncoding value = of(map.valueType());
            return new ValueEncoding("map<" + key.name + "," + value.name + ">", MAP, type, key, value);
        }
        if (type instanceof StructType struct) {
            return ofStruct(struct);
        }
        if (type instanceof DecimalType decimal) {
            String name = "decimal(" + decimal.precision() + "," + decimal.scale() + ")";
            return new ValueEncoding(name, DECIMAL, type);
        }
        return ofAtom(type);
    }

    private static ValueEncoding ofStruct(StructType struct) {
        StructField[] fields = struct.fields();
        ValueEncoding[] parts = new ValueEncoding[fields.length];
        var name = new StringBuilder("struct<");
        for (int index = 0; index < fields.length; index++) {
            parts[index] = of(fields[index].dataType());
            String field = fields[index].name();
            int length = field.getBytes(StandardCharsets.UTF_8).length;
            name.append(length).append(':').append(field).append(parts[index].name).append(';');
        }
        return new ValueEncoding(name.append('>').toString(), STRUCT, struct, parts);
    }

    private static ValueEncoding ofAtom(DataType type) {
        if (type instanceof LongType) {
            return new ValueEncoding("bigint", LONG, type);
        } else if (type instanceof TimestampType) {
            return new ValueEncoding("timestamp", LONG, type);
        } else if (type instanceof TimestampNTZType) {
            return new ValueEncoding("timestamp_ntz", LONG, type);
        } else if (type instanceof DayTimeIntervalType) {
            return new ValueEncoding("interval_day_time", LONG, type);
        } else if (type instanceof IntegerType) {
            return new ValueEncoding("int", INT, type);
        } else if (type instanceof DateType) {
            return new ValueEncoding("date", INT, type);
        } else if (type instanceof YearMonthIntervalType) {
            return new ValueEncoding("interval_year_month", INT, type);
        } else if (type instanceof StringType) {
            return new ValueEncoding("string", STRING, type);
        } else if (type instanceof DoubleType) {
            return new ValueEncoding("double", DOUBLE, type);
        } else if (type instanceof FloatType) {
            return new ValueEncoding("float", FLOAT, type);
        } else if (type instanceof BooleanType) {
            return new ValueEncoding("boolean", BOOLEAN, type);
        } else if (type instanceof ShortType) {
            return new ValueEncoding("smallint", SHORT, type);
        } else if (type instanceof ByteType) {
            return new ValueEncoding("tinyint", BYTE, type);
        } else if (type instanceof BinaryType) {
            return new ValueEncoding("binary", BINARY, type);
        } else if (type instanceof CalendarIntervalType) {
            return new ValueEncoding("interval", INTERVAL, type);
        } else if (type instanceof VariantType) {
            return new ValueEncoding("variant", VARIANT, type);
        } else if (type instanceof NullType) {
            return new ValueEncoding("void", VOID, type);
        }
        throw new IllegalArgumentException("values of the type " + type.sql() + " have no digest");
    }

    /** Returns the name of the type in digests. */
    String name() {
        return this.name;
    }

    /** Writes the fields of a row one after the other. The encoding is that of a struct. */
    void writeFields(SpecializedGetters row, ByteWriter out) {
        for (int index = 0; index < this.parts.length; index++) {
            this.parts[index].write(row, index, out);
        }
    }

    /** Writes a byte 0 for null, else a byte 1 and the value. */
    private void write(SpecializedGetters from, int at, ByteWriter out) {
        if (from.isNullAt(at)) {
            out.writeByte(0);
            return;
        }
        out.writeByte(1);
        switch (this.kind) {
            case BOOLEAN -> out.writeByte(from.getBoolean(at) ? 1 : 0);
            case BYTE -> out.writeLong(from.getByte(at));
            case SHORT -> out.writeLong(from.getShort(at));
            case INT -> out.writeLong(from.getInt(at));
            case LONG -> out.writeLong(from.getLong(at));
            case FLOAT -> out.writeInt(Float.floatToIntBits(from.getFloat(at)));
            case DOUBLE -> out.writeLong(Double.doubleToLongBits(from.getDouble(at)));
            case STRING -> {
                UTF8String text = from.getUTF8String(at);
                out.writeBytes(text.getBaseObject(), text.getBaseOffset(), text.numBytes());
            }
            case BINARY -> out.writeBytes(from.getBinary(at));
            default -> writeRarer(from, at, out);
        }
    }

    /** Writes a value of the other kinds. They have a method of their own, so that `write` stays small and fast. */
    private void writeRarer(SpecializedGetters from, int at, ByteWriter out) {
        switch (this.kind) {
            case DECIMAL -> writeDecimal(from, at, out);
            case INTERVAL -> {
                CalendarInterval interval = from.getInterval(at);
                out.writeLong(interval.months);
                out.writeLong(interval.days);
                out.writeLong(interval.microseconds);
            }
            case VARIANT -> {
                VariantVal variant = from.getVariant(at);
                out.writeBytes(variant.getValue());
                out.writeBytes(variant.getMetadata());
            }
            case ARRAY -> writeArray(from.getArray(at), out);
            case MAP -> writeMap(from.getMap(at), out);
            case STRUCT -> writeFields(from.getStruct(at, this.parts.length), out);
            default -> throw new IllegalStateException("there is a value of the type " + this.type.sql());
        }
    }

    /** Writes the unscaled number in 128 bits. */
    private void writeDecimal(SpecializedGetters from, int at, ByteWriter out) {
        DecimalType decimal = (DecimalType) this.type;
        Decimal value = from.getDecimal(at, decimal.precision(), decimal.scale());
        if (decimal.precision() <= Decimal.MAX_LONG_DIGITS() && value.scale() == decimal.scale()) {
            long unscaled = value.toUnscaledLong();
            out.writeLong(unscaled);
            out.writeLong(unscaled >> (Long.SIZE - 1));
            return;
        }
        BigInteger unscaled = value.toJavaBigDecimal().setScale(decimal.scale()).unscaledValue();
        out.writeLong(unscaled.longValue());
        out.writeLong(unscaled.shiftRight(Long.SIZE).longValue());
    }

    /** Writes the number of elements and the elements. */
    private void writeArray(ArrayData array, ByteWriter out) {
        out.writeLong(array.numElements());
        for (int index = 0; index < array.numElements(); index++) {
            this.parts[0].write(array, index, out);
        }
    }

    /** Writes the number of entries and the entries, sorted by their bytes: a map has no order. */
    private void writeMap(MapData map, ByteWriter out) {
        int count = map.numElements();
        out.writeLong(count);
        ArrayData keys = map.keyArray();
        ArrayData values = map.valueArray();
        int start = out.size();
        Entry[] entries = new Entry[count];
        for (int index = 0; index < count; index++) {
            int from = out.size() - start;
            this.parts[0].write(keys, index, out);
            this.parts[1].write(values, index, out);
            entries[index] = new Entry(from, out.size() - start);
        }
        if (count < 2) {
            return;
        }
        byte[] unsorted = Arrays.copyOfRange(out.buffer(), start, out.size());
        Arrays.sort(entries, (one, other) ->
            Arrays.compareUnsigned(unsorted, one.from, one.to, unsorted, other.from, other.to));
        int at = start;
        for (Entry entry : entries) {
            System.arraycopy(unsorted, entry.from, out.buffer(), at, entry.to - entry.from);
            at += entry.to - entry.from;
        }
    }

    /** The bytes of a map's entry, from a position up to another. */
    private record Entry(int from, int to) {
    }
}
