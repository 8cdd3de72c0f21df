package tidemark.count;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.api.java.UDF7;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.TaskCompletionListener;

/**
 * A filter that counts what each candidate of a grid of tolerances would make of a row, and lets all rows pass. Rows
 * come group after group, in the order of their offsets.
 *
 * <p>The highest time before a row depends on the late tolerance and on what becomes of late rows. It does not depend
 * on the out-of-order tolerance, since a row behind the watermark moves nothing. So there is one such time for each
 * lane and late tolerance. A larger out-of-order tolerance has no later watermark, so one number describes a row: how
 * many of these tolerances it is behind.
 */
public final class CandidateCounter implements UDF7<byte[], Object, Long, Long, Long, Long, Long, Boolean> {
    private static final long serialVersionUID = 1L;

    private static final int ADJUSTING = 0;
    private static final int DROPPING = 1;

    private final CandidateGrid grid;
    private final CandidateAccumulator partitions;
    private final CandidateAccumulator periods;
    private transient Map<String, long[]> countsByPartition;
    private transient Map<String, long[]> countsByPeriod;
    private transient byte[] partitionBytes;
    private transient String partition;
    private transient Object part;
    /** Counts and late start of the partition, and the highest times before the row by lane and late tolerance. */
    private transient long[] counts;
    private transient Long period;
    private transient long[] countsOfPeriod;
    private transient long[][] starts;
    private transient long[][] highs;

    /** Makes the counter; `function` makes the filter that Spark calls. */
    CandidateCounter(CandidateAccumulator partitions, CandidateAccumulator periods, CandidateGrid grid) {
        this.partitions = partitions;
        this.periods = periods;
        this.grid = grid;
    }

    /**
     * Makes the filter as a function, which Spark neither repeats nor moves. Its arguments are those of `call`; the
     * grid is JSON, see `CandidateGrid.read`.
     */
    public static UserDefinedFunction function(
            CandidateAccumulator partitions, CandidateAccumulator periods, String grid) throws IOException {
        var counter = new CandidateCounter(partitions, periods, CandidateGrid.read(grid));
        return functions.udf(counter, DataTypes.BooleanType).asNondeterministic();
    }

    /**
     * Counts a row; always true. Times are microseconds since 1970 (UTC).
     *
     * @param partition the partition's name in UTF-8
     * @param part the rest of the group's name: the number of a chunk, or the bytes of a substream
     * @param event the event time, null of a quarantined row
     * @param end the end of an interval, null of a point
     * @param reached the arrival from which the partition's floor follows, or null
     * @param period the number of the period that the row counts for, beside its partition
     */
    @Override
    public Boolean call(byte[] partition, Object part, Long arrival, Long event, Long end, Long reached, Long period) {
        if (countsByPartition == null) {
            begin();
        }
        boolean isSamePartition = partitionBytes != null && Arrays.equals(partition, partitionBytes);
        if (!isSamePartition) {
            enter(partition);
        }
        if (!isSamePartition || !Objects.deepEquals(part, this.part)) {
            this.part = part;
            highs = grid.highs(this.partition, part);
        }
        if (!period.equals(this.period)) {
            this.period = period;
            countsOfPeriod = countsByPeriod.computeIfAbsent(period.toString(), absent -> new long[grid.size()]);
        }
        if (event == null) {
            increment(grid.quarantinedRows());
        } else {
            count(arrival, event, end == null ? Long.MAX_VALUE : end, reached == null ? CandidateGrid.NONE : reached);
        }
        return true;
    }

    private void count(long arrival, long event, long end, long reached) {
        boolean isEarly = grid.hasEarly && event > arrival + grid.early;
        if (isEarly && !grid.adjustsEarly) {
            increment(grid.earlyRows());
            return;
        }
        long stamp = isEarly ? arrival + grid.early : event;
        for (int late = 0; late < grid.lates.length; late++) {
            boolean isOff = grid.isOff(late);
            long tolerance = grid.lates[late];
            long floor = isOff || reached == CandidateGrid.NONE ? CandidateGrid.NONE : reached - tolerance;
            if (isOff || arrival - event <= tolerance) {
                judge(ADJUSTING, late, stamp, isEarly, floor, end);
                judge(DROPPING, late, stamp, isEarly, floor, end);
            } else {
                if (arrival - tolerance < end) {
                    judge(ADJUSTING, late, arrival - tolerance, true, floor, end);
                } else {
                    increment(grid.emptiedLate(late));
                }
                increment(grid.lateRows(late));
            }
        }
    }

    private void judge(int lane, int late, long stamp, boolean moved, long floor, long end) {
        long high = highs[lane][late];
        int many = behind(stamp + 1, late, high, floor);
        increment(grid.place(lane, late, moved, many));
        int emptied = many == 0 ? 0 : behind(end, late, high, floor);
        if (emptied > 0) {
            increment(grid.emptiedBehind(lane, late, emptied));
        }
        if (stamp > high) {
            highs[lane][late] = stamp;
        }
    }

    /** Returns under how many tolerances the watermark is at a time or after it. */
    private int behind(long time, int late, long high, long floor) {
        long[] behind = grid.behind[late];
        int many = 0;
        while (many < behind.length && Math.max(Math.max(floor, high - behind[many]), start(late, many)) >= time) {
            many++;
        }
        return many;
    }

    private void increment(int place) {
        counts[place]++;
        countsOfPeriod[place]++;
    }

    private long start(int late, int outOfOrder) {
        return starts == null ? CandidateGrid.NONE : starts[late][outOfOrder];
    }

    private void enter(byte[] name) {
        partitionBytes = name;
        partition = new String(name, StandardCharsets.UTF_8);
        starts = grid.starts(partition);
        counts = countsByPartition.computeIfAbsent(partition, absent -> new long[grid.size()]);
    }

    private void begin() {
        Map<String, long[]> byPartition = new HashMap<>();
        Map<String, long[]> byPeriod = new HashMap<>();
        TaskCompletionListener addUp = task -> {
            partitions.add(byPartition);
            periods.add(byPeriod);
        };
        TaskContext.get().addTaskCompletionListener(addUp);
        countsByPartition = byPartition;
        countsByPeriod = byPeriod;
    }
}
