package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class EdgePairingTest {
    private static final byte[] P = {1};
    private static final byte[] M = {2};

    private final EdgePairing pairing = new EdgePairing();

    private Row edge(String role, Long offset) {
        return this.pairing.call(P.clone(), M.clone(), 100L, role, offset, 10 * offset);
    }

    private static Row pair(long offset) {
        return RowFactory.create(offset, 10 * offset);
    }

    @Test
    @DisplayName("an end closes the oldest open start, and one that would have closed it leaves it open")
    void oldest() {
        assertNull(edge("end", 0L));
        assertNull(edge("start", 1L));
        assertNull(edge("start", 2L));
        assertEquals(pair(1), edge("left", 3L));
        assertEquals(pair(1), edge("end", 4L));
        assertNull(edge(null, 5L));
        assertNull(edge("other", 6L));
        assertEquals(pair(2), edge("end", 7L));
        assertNull(edge("left", 8L));
    }

    @Test
    @DisplayName("edges of another partition, match or original start are no pair")
    void groups() {
        edge("start", 1L);
        assertNull(this.pairing.call(M, M, 100L, "end", 2L, 20L));
        edge("start", 3L);
        assertNull(this.pairing.call(P, P, 100L, "end", 4L, 40L));
        edge("start", 5L);
        assertNull(this.pairing.call(P, M, 101L, "end", 6L, 60L));
        edge("start", 7L);
        assertNull(this.pairing.call(P, M, null, "start", 8L, 80L));
        assertEquals(pair(8), this.pairing.call(P, M, null, "end", 9L, 90L));
    }
}
