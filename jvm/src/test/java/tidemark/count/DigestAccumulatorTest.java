package tidemark.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class DigestAccumulatorTest {
    @Test
    @DisplayName("sums of tasks add up, wrap at 2^64, and a copy keeps its own")
    void sums() {
        var total = new DigestAccumulator();
        assertTrue(total.isZero());
        total.add(new long[] {2, Long.MAX_VALUE, 5, 1});
        var copy = total.copy();
        var other = new DigestAccumulator();
        other.add(new long[] {3, 1, -9, 2});
        total.merge(other);
        assertEquals("5 " + Long.MIN_VALUE + " -4 3", total.summary());
        assertEquals("2 " + Long.MAX_VALUE + " 5 1", copy.summary());
        total.reset();
        assertTrue(total.isZero());
        assertFalse(copy.isZero());
        assertEquals("0 0 0 0", total.summary());
    }
}
