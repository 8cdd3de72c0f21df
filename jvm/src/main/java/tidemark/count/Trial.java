package tidemark.count;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.api.java.UDF5;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.TaskCompletionListener;
import tidemark.rows.Before;

/**
 * Counts what every cell of a grid of tolerances would make of rows that come group after group, in the order of their
 * offsets, and is true of each row.
 *
 * The highest time before a row depends on the late tolerance and on what becomes of late rows, not on the out-of-order
 * tolerance: a row behind the watermark moves nothing. So there is one such time a lane and late tolerance, and since a
 * larger out-of-order tolerance has no later watermark, a row is told by how many of them it is behind.
 *
 * Arguments: what names the group (partition as bytes; the number of a chunk, or bytes of a substream), arrival, event
 * time (null: quarantined), and the arrival that the partition's floor follows from, or null.
 */
public final class Trial implements UDF5 {
    private static final long serialVersionUID = 1L;

    private final TrialGrid grid;
    private final Trials told;
    private transient Map tallies;
    private transient byte[] name;
    private transient String partition;
    private transient Object part;
    private transient long[] counts;
    private transient long[][] starts;
    private transient long[][] highs;

    private Trial(Trials told, TrialGrid grid) {
        this.told = told;
        this.grid = grid;
    }

    /** As a column function, which Spark must neither repeat nor move; what the grid is, as JSON. */
    public static UserDefinedFunction function(Trials told, String grid) throws java.io.IOException {
        return functions.udf((UDF5) new Trial(told, TrialGrid.read(grid)), DataTypes.BooleanType).asNondeterministic();
    }

    public Object call(Object partition, Object part, Object arrival, Object event, Object reached) {
        if (this.tallies == null) {
            begin();
        }
        boolean same = this.name != null && Before.same(partition, this.name);
        if (!same) {
            enter((byte[]) partition);
        }
        if (!same || !Before.same(part, this.part)) {
            this.part = part;
            this.highs = this.grid.highs(this.partition, part);
        }
        if (event == null) {
            this.counts[this.counts.length - 1]++;
        } else {
            long floor = reached == null ? TrialGrid.NONE : ((Long) reached).longValue();
            row(((Long) arrival).longValue(), ((Long) event).longValue(), floor);
        }
        return Boolean.TRUE;
    }

    private void row(long arrival, long event, long reached) {
        boolean isEarly = this.grid.early && event > arrival + this.grid.earliness;
        if (isEarly && !this.grid.adjustsEarly) {
            this.counts[this.counts.length - 2]++;
            return;
        }
        long stamp = isEarly ? arrival + this.grid.earliness : event;
        for (int late = 0; late < this.grid.lates.length; late++) {
            long tolerance = this.grid.lates[late];
            long floor = this.grid.isOff(late) || reached == TrialGrid.NONE ? TrialGrid.NONE : reached - tolerance;
            if (this.grid.isOff(late) || arrival - event <= tolerance) {
                judge(0, late, stamp, isEarly, floor);
                judge(1, late, stamp, isEarly, floor);
            } else {
                judge(0, late, arrival - tolerance, true, floor);
                this.counts[this.grid.lateRows(late)]++;
            }
        }
    }

    private void judge(int lane, int late, long stamp, boolean moved, long floor) {
        long high = this.highs[lane][late];
        long[] behind = this.grid.behind[late];
        int many = 0;
        while (many < behind.length && (stamp < floor || stamp < high - behind[many] || stamp < start(late, many))) {
            many++;
        }
        this.counts[this.grid.place(lane, late, moved, many)]++;
        if (stamp > high) {
            this.highs[lane][late] = stamp;
        }
    }

    private long start(int late, int outOfOrder) {
        return this.starts == null ? TrialGrid.NONE : this.starts[late][outOfOrder];
    }

    private void enter(byte[] name) {
        this.name = name;
        this.partition = new String(name, StandardCharsets.UTF_8);
        this.starts = this.grid.starts(this.partition);
        this.counts = (long[]) this.tallies.get(this.partition);
        if (this.counts == null) {
            this.counts = new long[this.grid.size()];
            this.tallies.put(this.partition, this.counts);
        }
    }

    private void begin() {
        this.tallies = new HashMap();
        final Map counted = this.tallies;
        final Trials all = this.told;
        TaskContext.get().addTaskCompletionListener(new TaskCompletionListener() {
            public void onTaskCompletion(TaskContext context) {
                all.add(counted);
            }
        });
    }
}
