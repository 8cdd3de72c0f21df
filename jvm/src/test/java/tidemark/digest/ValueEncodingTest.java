package tidemark.digest;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Expected bytes are those of docs/digest.md. */
class ValueEncodingTest {
    private static final byte PRESENT = 1;
    private static final byte NULL = 0;

    /** Encodes a row of one value. */
    private static byte[] encode(String type, Object value) {
        return encodeRow("v " + type, value);
    }

    private static byte[] encodeRow(String fields, Object... values) {
        ByteWriter writer = new ByteWriter();
        ValueEncoding.of(StructType.fromDDL(fields)).writeFields(new GenericInternalRow(values), writer);
        return Arrays.copyOf(writer.buffer(), writer.size());
    }

    /** Joins bytes, ints (4 bytes) and longs (8 bytes), lowest byte first. */
    private static byte[] bytes(Object... numbers) {
        ByteBuffer buffer = ByteBuffer.allocate(8 * numbers.length).order(ByteOrder.LITTLE_ENDIAN);
        for (Object number : numbers) {
            if (number instanceof Byte small) {
                buffer.put(small);
            } else if (number instanceof Integer middle) {
                buffer.putInt(middle);
            } else {
                buffer.putLong((Long) number);
            }
        }
        return Arrays.copyOf(buffer.array(), buffer.position());
    }

    private static UTF8String text(String text) {
        return UTF8String.fromString(text);
    }

    private static GenericArrayData array(Object... items) {
        return new GenericArrayData(items);
    }

    @Test
    @DisplayName("numbers of each size have the bytes of the page")
    void numbers() {
        assertArrayEquals(bytes(PRESENT, PRESENT), encode("BOOLEAN", true));
        assertArrayEquals(bytes(PRESENT, -2L), encode("TINYINT", (byte) -2));
        assertArrayEquals(bytes(PRESENT, -2L), encode("SMALLINT", (short) -2));
        assertArrayEquals(bytes(PRESENT, -2L), encode("INT", -2));
        assertArrayEquals(bytes(PRESENT, -2L), encode("BIGINT", -2L));
        assertArrayEquals(bytes(PRESENT, 0x7FC00000), encode("FLOAT", Float.intBitsToFloat(0x7FC00001)));
        assertArrayEquals(bytes(PRESENT, Long.MIN_VALUE), encode("DOUBLE", -0.0));
    }

    @Test
    @DisplayName("decimals are 128 bits, whether they fit into 64 or not")
    void decimals() {
        assertArrayEquals(bytes(PRESENT, -150L, -1L), encode("DECIMAL(9,2)", Decimal.apply("-1.50")));
        assertArrayEquals(bytes(PRESENT, -150L, -1L), encode("DECIMAL(9,2)", Decimal.apply("-1.5")));
        assertArrayEquals(bytes(PRESENT, -150L, -1L), encode("DECIMAL(30,2)", Decimal.apply("-1.50")));
        Decimal beyond = Decimal.apply("18446744073709551617");
        assertArrayEquals(bytes(PRESENT, 1L, 1L), encode("DECIMAL(30,0)", beyond));
    }

    @Test
    @DisplayName("texts, binaries and intervals have the bytes of the page")
    void others() {
        byte a = 'a';
        assertArrayEquals(bytes(PRESENT, 1L, a), encode("STRING", text("a")));
        assertArrayEquals(bytes(PRESENT, 1L, a), encode("BINARY", new byte[] {a}));
        CalendarInterval interval = new CalendarInterval(1, 2, 3L);
        assertArrayEquals(bytes(PRESENT, 1L, 2L, 3L), encode("INTERVAL", interval));
    }

    @Test
    @DisplayName("nulls are a byte 0 at every depth")
    void nulls() {
        assertArrayEquals(bytes(NULL), encode("BIGINT", null));
        assertArrayEquals(bytes(NULL), encode("ARRAY<INT>", null));
        assertArrayEquals(bytes(PRESENT, 2L, NULL, PRESENT, 5L), encode("ARRAY<INT>", array(null, 5)));
        InternalRow struct = new GenericInternalRow(new Object[] {null, array((Object) null)});
        byte[] expected = bytes(PRESENT, NULL, PRESENT, 1L, NULL);
        assertArrayEquals(expected, encode("STRUCT<a: INT, b: ARRAY<INT>>", struct));
    }

    @Test
    @DisplayName("nested values are written where they are, and fields one after the other")
    void nested() {
        Object arrays = array(array(1), array());
        byte[] expected = bytes(PRESENT, 2L, PRESENT, 1L, PRESENT, 1L, PRESENT, 0L, PRESENT, 7L);
        assertArrayEquals(expected, encodeRow("a ARRAY<ARRAY<INT>>, b INT", arrays, 7));
    }

    @Test
    @DisplayName("maps are sorted by their unsigned bytes, in any order of entries")
    void maps() {
        Object ascending = new ArrayBasedMapData(array(1, 255, 2), array(5L, null, 6L));
        Object mixed = new ArrayBasedMapData(array(255, 2, 1), array(null, 6L, 5L));
        byte[] expected =
            bytes(PRESENT, 3L, PRESENT, 1L, PRESENT, 5L, PRESENT, 2L, PRESENT, 6L, PRESENT, 255L, NULL);
        assertArrayEquals(expected, encode("MAP<INT, BIGINT>", ascending));
        assertArrayEquals(expected, encode("MAP<INT, BIGINT>", mixed));
        Object single = new ArrayBasedMapData(array(1), array(5L));
        assertArrayEquals(bytes(PRESENT, 1L, PRESENT, 1L, PRESENT, 5L), encode("MAP<INT, BIGINT>", single));
    }

    @Test
    @DisplayName("names of types say the length of each field's name in bytes")
    void names() {
        StructType type = StructType.fromDDL("id BIGINT, `é` MAP<STRING, DECIMAL(5,1)>, s STRUCT<>");
        String expected = "struct<2:idbigint;2:émap<string,decimal(5,1)>;1:sstruct<>;>";
        assertEquals(expected, ValueEncoding.of(type).name());
    }

    @Test
    @DisplayName("a type without an encoding is refused")
    void refused() {
        var error = assertThrows(
            IllegalArgumentException.class, () -> ValueEncoding.of(DataTypes.createArrayType(new UnknownType())));
        assertEquals("values of the type UNKNOWN have no digest", error.getMessage());
    }

    private static final class UnknownType extends DataType {
        private static final long serialVersionUID = 1L;

        @Override
        public int defaultSize() {
            return 1;
        }

        @Override
        public DataType asNullable() {
            return this;
        }
    }
}
