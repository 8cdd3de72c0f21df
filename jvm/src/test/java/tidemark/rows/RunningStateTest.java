package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static tidemark.rows.Nullable.NONE;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import tidemark.plans.PlanNumber;

class RunningStateTest {
    private static final UTF8String P = UTF8String.fromString("p");
    private static final UTF8String Q = UTF8String.fromString("q");

    private final PlanNumber unseen = new PlanNumber();
    private final RunningState state = new RunningState(this.unseen);

    /** Checks group, number, arrival, watermark and high. */
    private static void assertState(InternalRow row, Long... expected) {
        assertArrayEquals(expected, ((GenericInternalRow) row).values());
    }

    private InternalRow row(int chunk, UTF8String partition, long arrival) {
        return this.state.advance(chunk, partition, arrival, NONE, NONE, NONE);
    }

    @Test
    @DisplayName("rows are numbered, and the latest arrival is kept")
    void rows() {
        assertState(row(0, P, NONE), 1L, 1L, null, null, null);
        assertState(row(0, P, 5), 1L, 2L, 5L, null, null);
        assertState(row(0, P, 3), 1L, 3L, 5L, null, null);
        assertState(row(0, P, NONE), 1L, 4L, 5L, null, null);
        assertState(row(0, P, 6), 1L, 5L, 6L, null, null);
    }

    @Test
    @DisplayName("a seed brings earlier rows, the watermark and the highest time")
    void seeds() {
        this.unseen.set(1);
        assertState(this.state.advance(0, P, 5, 10, 3, NONE), 1L, 10L, 5L, 3L, null);
        assertState(row(0, P, 4), 1L, 11L, 5L, 3L, null);
        assertState(this.state.advance(1, P, NONE, 0, NONE, 9), 2L, 0L, null, null, 9L);
        assertState(row(1, P, 2), 2L, 1L, 2L, null, 9L);
    }

    @Test
    @DisplayName("another chunk or partition begins a group, whose watermark is the one set by then")
    void groups() {
        assertState(this.state.advance(0, P, 5, 10, 3, 4), 1L, 10L, 5L, 3L, 4L);
        this.unseen.set(7);
        assertState(row(1, P, NONE), 2L, 1L, null, 7L, null);
        assertState(row(1, Q, 2), 3L, 1L, 2L, 7L, null);
    }
}
