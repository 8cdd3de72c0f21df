package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ClockTimeTest {
    private static final long FIRST = Long.MIN_VALUE / 2;

    /** A clock that is 5 ahead, from 100 on 2 ahead, and from 120 on 5 ahead again; from 120 on this repeats after 50. */
    private static ClockTime clock() {
        long[] begins = {FIRST, 100, 120, 150, 170};
        long[] floors = {FIRST, 104, 121, 154, 171};
        long[] shifts = {5, 2, 5, 2, 5};
        return new ClockTime(begins, floors, shifts, 120, 50);
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
        assertEquals(171, clock.call(169L));
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
