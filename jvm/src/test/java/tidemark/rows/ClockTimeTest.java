package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ClockTimeTest {
    private static final long FIRST = Long.MIN_VALUE / 2;

    /** A clock that is 5 ahead, from 100 on 2 ahead, and from 120 on 5 ahead again; from 120 on this repeats after 50. */
    private static ClockTime clock() {
        return new ClockTime(
                new long[] {FIRST, 100, 120, 150, 170}, new long[] {FIRST, 104, 121, 154, 171}, new long[] {5, 2, 5, 2, 5}, 120, 50);
    }

    @Test
    @DisplayName("a clock that is set back waits, and goes on from there")
    void floors() {
        var clock = clock();
        assertEquals(104, clock.call(99L));
        assertEquals(104, clock.call(100L));
        assertEquals(104, clock.call(102L));
        assertEquals(105, clock.call(103L));
        assertEquals(121, clock.call(119L));
        assertEquals(125, clock.call(120L));
        assertEquals(-95, clock.call(-100L));
    }

    @Test
    @DisplayName("stretches repeat after each cycle")
    void cycles() {
        var clock = clock();
        assertEquals(154, clock.call(150L));
        assertEquals(174, clock.call(169L) + 3);
        for (long time = 120; time < 170; time++) {
            assertEquals(clock.call(time) + 500, clock.call(time + 500));
        }
    }

    @Test
    @DisplayName("null gives null")
    void none() {
        assertNull(clock().call(null));
    }
}
