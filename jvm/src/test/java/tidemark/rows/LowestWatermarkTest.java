package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class LowestWatermarkTest {
    private static final byte[] P = {1};
    private static final byte[] Q = {2};

    @Test
    @DisplayName("there is none while a partition has none")
    void missing() {
        var lowest = new LowestWatermark();
        assertNull(lowest.call(P, null));
        assertNull(lowest.call(Q, 5L));
        assertNull(lowest.call(P, null));
        assertEquals(3L, lowest.call(P, 3L));
    }

    @Test
    @DisplayName("it rises with the partition that is lowest, and no watermark falls")
    void rises() {
        var lowest = new LowestWatermark();
        assertEquals(3L, lowest.call(P, 3L));
        assertEquals(3L, lowest.call(Q, 3L));
        assertEquals(3L, lowest.call(P.clone(), 7L));
        assertEquals(3L, lowest.call(P, 1L));
        assertEquals(3L, lowest.call(P, null));
        assertEquals(7L, lowest.call(Q, 9L));
        assertEquals(9L, lowest.call(P, 9L));
        assertNull(lowest.call(new byte[] {3}, null));
    }
}
