package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RecentKeysTest {
    private static final UTF8String P = UTF8String.fromString("p");
    private static final UTF8String Q = UTF8String.fromString("q");

    private static byte[] key(long high, long low) {
        return ByteBuffer.allocate(16).putLong(high).putLong(low).array();
    }

    @Test
    @DisplayName("a row is a duplicate for less than the time after the last row with its key")
    void within() {
        var keys = new RecentKeys(10);
        assertFalse(keys.isRepeated(P, key(1, 1), 100));
        assertTrue(keys.isRepeated(P, key(1, 1), 109));
        assertTrue(keys.isRepeated(P, key(1, 1), 118));
        assertFalse(keys.isRepeated(P, key(1, 1), 128));
        assertFalse(keys.isRepeated(P, key(2, 1), 128));
        assertFalse(keys.isRepeated(P, key(1, 2), 128));
    }

    @Test
    @DisplayName("a row without a key neither is a duplicate nor makes one, and partitions are apart")
    void apart() {
        var keys = new RecentKeys(10);
        assertFalse(keys.isRepeated(P, null, 100));
        assertFalse(keys.isRepeated(P, null, 100));
        assertFalse(keys.isRepeated(P, key(0, 0), 100));
        assertFalse(keys.isRepeated(Q, key(0, 0), 100));
        assertTrue(keys.isRepeated(Q, key(0, 0), 100));
    }

    @Test
    @DisplayName("many keys are found as in a map, and only recent ones are kept")
    void many() {
        var keys = new RecentKeys(1_000);
        var random = new Random(1);
        Map<Long, Long> known = new HashMap<>();
        for (long arrival = 0; arrival < 50_000; arrival++) {
            long number = random.nextInt(3_000);
            Long before = known.put(number, arrival);
            boolean expected = before != null && before > arrival - 1_000;
            assertEquals(expected, keys.isRepeated(P, key(number % 7, number << 40), arrival), "arrival " + arrival);
        }
        for (long arrival = 50_000; arrival < 500_000; arrival++) {
            assertFalse(keys.isRepeated(P, key(arrival, arrival), arrival));
        }
        assertTrue(keys.size() <= 4_096, "keys in memory: " + keys.size());
    }
}
