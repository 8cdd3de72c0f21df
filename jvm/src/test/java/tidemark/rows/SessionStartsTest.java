package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class SessionStartsTest {
    @Test
    @DisplayName("a row joins the session before its end, the gap after the latest end less a microsecond")
    void gap() {
        var sessions = new SessionStarts(10, 1_000);
        assertEquals(0L, sessions.call(1L, 0L, 21L));
        assertEquals(0L, sessions.call(1L, 5L, 6L));
        assertEquals(0L, sessions.call(1L, 29L, 30L));
        assertEquals(39L, sessions.call(1L, 39L, 40L));
    }

    @Test
    @DisplayName("a session ends after its longest duration, although rows follow without a gap")
    void maxDuration() {
        var sessions = new SessionStarts(10, 20);
        assertEquals(0L, sessions.call(1L, 0L, 50L));
        assertEquals(0L, sessions.call(1L, 19L, 21L));
        assertEquals(20L, sessions.call(1L, 20L, 21L));
        assertEquals(20L, sessions.call(1L, 29L, 30L));
    }

    @Test
    @DisplayName("without a longest duration a session lasts as long as rows come, also before 1970 and without end")
    void anyDuration() {
        var sessions = new SessionStarts(10, Long.MAX_VALUE);
        assertEquals(-30L, sessions.call(1L, -30L, -29L));
        for (long time = -25; time < 1_000; time += 5) {
            assertEquals(-30L, sessions.call(1L, time, time + 1));
        }
        assertEquals(1_005L, sessions.call(1L, 1_005L, 1L << 60));
        assertEquals(1_005L, sessions.call(1L, (1L << 60) - 1, 1L << 60));
    }

    @Test
    @DisplayName("another group begins another session, also groups of bytes and of null")
    void groups() {
        var sessions = new SessionStarts(10, 1_000);
        assertEquals(0L, sessions.call(null, 0L, 1L));
        assertEquals(0L, sessions.call(null, 1L, 2L));
        assertEquals(2L, sessions.call(new byte[] {1}, 2L, 3L));
        assertEquals(2L, sessions.call(new byte[] {1}, 3L, 4L));
        assertEquals(4L, sessions.call(new byte[] {2}, 4L, 5L));
    }

    @Test
    @DisplayName("a session does not last as long as one of the group before")
    void endOfAnotherGroup() {
        var sessions = new SessionStarts(10, 1_000);
        assertEquals(90L, sessions.call(1L, 90L, 91L));
        assertEquals(5L, sessions.call(2L, 5L, 6L));
        assertEquals(60L, sessions.call(2L, 60L, 61L));
    }
}
