package tidemark.count;

import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.AccumulatorV2;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Of the rows of a job that pass: how many there are, both sums of their digest, and how many match. A task that
 * failed adds nothing, and one of a job's last stage adds once, however often it was tried.
 */
public final class Summed extends AccumulatorV2 {
    private static final long serialVersionUID = 1L;

    private static final int ROWS = 0;
    private static final int LOW = 1;
    private static final int HIGH = 2;
    private static final int MATCHING = 3;

    private long[] sums = new long[MATCHING + 1];

    /** One that Spark knows of, for one job at a time. */
    public static Summed registered(SparkContext context) {
        Summed made = new Summed();
        context.register(made);
        return made;
    }

    /** As a column function of both halves of a row's hash and whether it matches: true of each row, which Spark must neither repeat
     * nor move. */
    public UserDefinedFunction function() {
        return functions.udf((UDF3) new Passing(this), DataTypes.BooleanType).asNondeterministic();
    }

    public boolean isZero() {
        return this.sums[ROWS] == 0;
    }

    public AccumulatorV2 copy() {
        Summed copy = new Summed();
        copy.add(this.sums);
        return copy;
    }

    public void reset() {
        this.sums = new long[MATCHING + 1];
    }

    public void add(Object sums) {
        long[] more = (long[]) sums;
        for (int index = 0; index < more.length; index++) {
            this.sums[index] += more[index];
        }
    }

    public void merge(AccumulatorV2 other) {
        add(((Summed) other).sums);
    }

    public Object value() {
        return this.sums;
    }

    /** Rows, low and high sum of the digest, matching rows. */
    public String told() {
        return this.sums[ROWS] + " " + this.sums[LOW] + " " + this.sums[HIGH] + " " + this.sums[MATCHING];
    }

    /** What one task has counted is told when it ends. */
    public static final class Passing implements UDF3 {
        private static final long serialVersionUID = 1L;

        private final Summed told;
        private transient long[] sums;

        Passing(Summed told) {
            this.told = told;
        }

        public Object call(Object high, Object low, Object matching) {
            if (this.sums == null) {
                begin();
            }
            this.sums[ROWS]++;
            this.sums[LOW] += ((Long) low).longValue();
            this.sums[HIGH] += ((Long) high).longValue();
            if (Boolean.TRUE.equals(matching)) {
                this.sums[MATCHING]++;
            }
            return Boolean.TRUE;
        }

        private void begin() {
            this.sums = new long[MATCHING + 1];
            final long[] counted = this.sums;
            final Summed all = this.told;
            TaskContext.get().addTaskCompletionListener(new TaskCompletionListener() {
                public void onTaskCompletion(TaskContext context) {
                    all.add(counted);
                }
            });
        }
    }
}
