package tidemark.expressions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class SizeBoundTest {
    private static final SizeBound BOUND = new SizeBound(null);

    private static UTF8String text(String text) {
        return UTF8String.fromString(text);
    }

    @Test
    @DisplayName("sizes and positions pass up to the limit, on both sides of zero")
    void sizes() {
        assertEquals(SizeBound.LIMIT, BOUND.size(SizeBound.LIMIT));
        assertNull(BOUND.size(SizeBound.LIMIT + 1));
        assertEquals(-SizeBound.LIMIT, BOUND.size(-SizeBound.LIMIT));
        assertNull(BOUND.size(-SizeBound.LIMIT - 1));
        assertNull(BOUND.size(Integer.MIN_VALUE));
    }

    @Test
    @DisplayName("repetitions are limited by the bytes of the repeated text")
    void repetitions() {
        assertEquals(SizeBound.LIMIT / 2, BOUND.times(text("é"), SizeBound.LIMIT / 2));
        assertNull(BOUND.times(text("é"), SizeBound.LIMIT / 2 + 1));
        assertNull(BOUND.times(text("four"), Integer.MAX_VALUE));
        assertEquals(-1, BOUND.times(text("a"), -1));
    }

    @Test
    @DisplayName("a format is refused from eight digits in a row")
    void formats() {
        assertEquals(text("%1234567d 1"), BOUND.format(text("%1234567d 1")));
        assertNull(BOUND.format(text("%12345678d")));
    }

    @Test
    @DisplayName("bytes pass up to the limit")
    void bytes() {
        assertNotNull(BOUND.limited(new byte[SizeBound.LIMIT]));
        assertNull(BOUND.limited(new byte[SizeBound.LIMIT + 1]));
    }

    @Test
    @DisplayName("a value costs a byte for each of its parts, and the bytes of its texts")
    void parts() {
        DataType texts = DataTypes.createArrayType(DataTypes.StringType);
        Object pair = new GenericArrayData(new Object[] {text("abc"), null});
        assertEquals(100 - 1 - (1 + 3) - 1, SizeBound.left(pair, texts, 100));
        DataType integers = DataTypes.createArrayType(DataTypes.IntegerType);
        DataType struct = new StructType().add("names", texts).add("numbers", integers);
        Object numbers = new GenericArrayData(new int[] {1, 2, 3});
        Object row = new GenericInternalRow(new Object[] {pair, numbers});
        assertEquals(100 - 1 - 6 - (1 + 3), SizeBound.left(row, struct, 100));
        assertEquals(-1, SizeBound.left(null, texts, 0));
    }
}
