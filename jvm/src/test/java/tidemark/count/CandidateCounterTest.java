package tidemark.count;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import scala.Option;

class CandidateCounterTest {
    private static final byte[] PARTITION = "p".getBytes(StandardCharsets.UTF_8);

    private final TaskContextImpl task = TaskContext$.MODULE$.empty();
    private final CandidateAccumulator partitions = new CandidateAccumulator();
    private final CandidateAccumulator periods = new CandidateAccumulator();

    @BeforeEach
    void beginTask() {
        TaskContext$.MODULE$.setTaskContext(task);
    }

    @AfterEach
    void endTask() {
        TaskContext$.MODULE$.unset();
    }

    private static CandidateGrid grid(String early, String starts) throws IOException {
        return CandidateGrid.read(
            "{\"lates\": [10, null], \"behind\": [[0, 5], [0, 5]], \"early\": " + early
                + ", \"adjusts_early\": false, \"starts\": " + starts + ", \"highs\": []}");
    }

    private long[] counted(CandidateGrid grid, Long[]... rows) {
        var counter = new CandidateCounter(partitions, periods, grid);
        for (Long[] row : rows) {
            Long end = row.length > 3 ? row[3] : null;
            counter.call(PARTITION, 0L, row[0], row[1], end, row[2], row[0] / 100);
        }
        assertTrue(partitions.isZero() && periods.isZero(), "before the task ends");
        task.markTaskCompleted(Option.empty());
        return partitions.value().get("p");
    }

    @Test
    @DisplayName("rows on time, out of order, late and quarantined are counted under each candidate")
    void fates() throws IOException {
        CandidateGrid grid = grid("null", "{}");
        long[] expected = new long[grid.size()];
        for (int lane = 0; lane < CandidateGrid.LANES; lane++) {
            for (int late = 0; late < 2; late++) {
                expected[grid.place(lane, late, false, 0)]++; // the first row is on time under all
                expected[grid.place(lane, late, false, 1)]++; // the second is behind a tolerance of 0, not of 5
            }
            expected[grid.place(lane, 1, false, 2)]++; // the third is never late without a limit, but out of order
        }
        expected[grid.place(0, 0, true, 0)]++; // with one it is late: moved if late rows are adjusted
        expected[grid.lateRows(0)]++;
        expected[grid.quarantinedRows()]++;
        Long[][] rows = {{100L, 100L, null}, {101L, 97L, null}, {120L, 80L, null}, {121L, null, null}};
        assertArrayEquals(expected, counted(grid, rows));
    }

    @Test
    @DisplayName("intervals that the late step or a watermark moves to their end are counted besides, and move nothing")
    void intervals() throws IOException {
        CandidateGrid grid = grid("null", "{}");
        long[] expected = new long[grid.size()];
        for (int lane = 0; lane < CandidateGrid.LANES; lane++) {
            for (int late = 0; late < 2; late++) {
                expected[grid.place(lane, late, false, 0)]++;
                expected[grid.place(lane, late, false, 2)]++; // the second is behind 100 and 95
                expected[grid.emptiedBehind(lane, late, 1)]++; // and over at 96
            }
            expected[grid.place(lane, 1, false, 2)] += 2; // without a limit the others are out of order, and last
        }
        expected[grid.emptiedLate(0)]++; // with one the third is over at 110, where it is moved
        expected[grid.place(0, 0, true, 0)]++; // and the fourth is not
        expected[grid.lateRows(0)] += 2;
        Long[][] rows = {{100L, 100L, null, 200L}, {101L, 94L, null, 96L}, {120L, 80L, null, 110L}, {120L, 80L, null, 111L}};
        assertArrayEquals(expected, counted(grid, rows));
    }

    @Test
    @DisplayName("each row counts for its period, and is compared with the rows of those before")
    void periods() throws IOException {
        CandidateGrid grid = grid("null", "{}");
        counted(grid, new Long[] {199L, 199L, null}, new Long[] {200L, 198L, null}, new Long[] {201L, 201L, null});
        long[] first = periods.value().get("1");
        long[] second = periods.value().get("2");
        assertEquals(1, first[grid.place(0, 0, false, 0)]);
        assertEquals(1, second[grid.place(0, 0, false, 0)]);
        assertEquals(1, second[grid.place(0, 0, false, 1)], "behind a tolerance of 0");
    }

    @Test
    @DisplayName("an early row is dropped, and raises no watermark")
    void early() throws IOException {
        CandidateGrid grid = grid("5", "{}");
        long[] counts = counted(grid, new Long[] {100L, 106L, null}, new Long[] {101L, 101L, null});
        assertEquals(1, counts[grid.earlyRows()]);
        assertEquals(1, counts[grid.place(0, 0, false, 0)]);
    }

    @Test
    @DisplayName("floors and late starts put rows out of order")
    void floors() throws IOException {
        CandidateGrid grid = grid("null", "{\"p\": [[0, 0], [101, 101]]}");
        long[] counts = counted(grid, new Long[] {100L, 100L, 111L}, new Long[] {102L, 102L, 112L});
        long[] limited = {counts[grid.place(0, 0, false, 0)], counts[grid.place(0, 0, false, 2)]};
        assertArrayEquals(new long[] {1, 1}, limited, "the floor is 111 - 10, then 112 - 10");
        long[] off = {counts[grid.place(0, 1, false, 0)], counts[grid.place(0, 1, false, 2)]};
        assertArrayEquals(new long[] {1, 1}, off, "no floor, but the partition starts in 101");
    }
}
