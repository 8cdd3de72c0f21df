package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class SnapshotBoundsTest {
    private final SnapshotBounds snapshots = new SnapshotBounds();

    /** Adds an end of a row. */
    private void end(long time) {
        assertNull(this.snapshots.call("g", time, null, null, null));
    }

    private List<Long> row(long start, long end, Long after, Long until) {
        return this.snapshots.call("g", start, end, after, until);
    }

    @Test
    @DisplayName("bounds of a row are all starts and ends in its lifetime, earliest first and without doubles")
    void lifetime() {
        end(40);
        end(40);
        end(30);
        end(30);
        assertEquals(List.of(20L, 30L, 40L), row(20, 40, null, null));
        assertEquals(List.of(20L, 30L), row(20, 30, null, null));
        assertEquals(List.of(10L, 20L, 30L), row(10, 30, null, null));
    }

    @Test
    @DisplayName("windows end after the one time and until the other, and there may be none")
    void limits() {
        end(40);
        end(30);
        end(20);
        assertEquals(List.of(10L, 20L, 30L, 40L), row(10, 40, 10L, 40L));
        assertEquals(List.of(20L, 30L, 40L), row(10, 40, 20L, null));
        assertEquals(List.of(10L, 20L, 30L), row(10, 40, null, 39L));
        assertEquals(List.of(20L, 30L), row(10, 40, 29L, 30L));
        assertNull(row(10, 40, 30L, 30L));
        assertNull(row(10, 40, 40L, null));
        assertNull(row(10, 40, null, 19L));
    }

    @Test
    @DisplayName("a group has no bounds of another")
    void groups() {
        end(40);
        end(30);
        assertNull(this.snapshots.call(new byte[] {1}, 35L, null, null, null));
        assertNull(this.snapshots.call(new byte[] {1}, 30L, null, null, null));
        assertEquals(List.of(20L, 30L), this.snapshots.call(new byte[] {1}, 20L, 30L, null, null));
        assertEquals(List.of(15L, 20L, 30L), this.snapshots.call(new byte[] {1}, 15L, 30L, null, null));
        assertNull(this.snapshots.call(null, 15L, null, null, null));
        assertEquals(List.of(10L, 15L), this.snapshots.call(null, 10L, 15L, null, null));
    }

    @Test
    @DisplayName("any number of bounds is kept")
    void many() {
        for (long time = 300; time > 0; time--) {
            end(time);
        }
        assertEquals(LongStream.rangeClosed(0, 300).boxed().toList(), row(0, 300, null, null));
    }
}
