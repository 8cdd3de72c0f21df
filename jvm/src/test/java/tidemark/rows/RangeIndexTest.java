package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RangeIndexTest {
    @Test
    @DisplayName("a range begins at its start, and the first one before all starts")
    void ranges() {
        var index = new RangeIndex(new long[] {10, 20}, new long[0], 1);
        assertEquals(0, index.call(9L, null));
        assertEquals(1, index.call(10L, null));
        assertEquals(1, index.call(19L, null));
        assertEquals(2, index.call(20L, null));
        assertEquals(2, index.call(21L, 5L));
        assertEquals(0, index.call(null, null));
    }

    @Test
    @DisplayName("crowded times and null are spread by their hash, if they have one")
    void crowded() {
        var index = new RangeIndex(new long[] {10, 20}, new long[] {15}, 3);
        assertEquals(2, index.call(15L, 5L));
        assertEquals(2, index.call(15L, -1L));
        assertEquals(0, index.call(null, 3L));
        assertEquals(1, index.call(15L, null));
        assertEquals(1, index.call(16L, 5L));
    }
}
