package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class LatestArrivalTest {
    @Test
    @DisplayName("the latest arrival is kept by partition, also by null, until the cell changes")
    void cells() {
        var latest = new LatestArrival();
        byte[] p = {1};
        assertNull(latest.call(p, 1L, null));
        assertEquals(5L, latest.call(p, 1L, 5L));
        assertEquals(2L, latest.call(null, 1L, 2L));
        assertEquals(5L, latest.call(p.clone(), 1L, 3L));
        assertEquals(5L, latest.call(p, 1L, null));
        assertEquals(1L, latest.call(p, 2L, 1L));
        assertEquals(2L, latest.call(null, 1L, 1L));
    }
}
