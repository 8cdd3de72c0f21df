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
 * Adds up the rows of a job that pass a filter: their number, both sums of hashes from which a digest is made, and
 * the number of rows that match a condition. A task that failed adds nothing, and a task of a job's last stage adds
 * once, however often it was tried.
 */
public final class DigestAccumulator extends AccumulatorV2<long[], long[]> {
    private static final long serialVersionUID = 1L;

    private static final int ROWS = 0;
    private static final int LOW = 1;
    private static final int HIGH = 2;
    private static final int MATCHING = 3;
    private static final int SUMS = 4;

    private long[] sums = new long[SUMS];

    /** Makes an accumulator that Spark knows, for one job at a time. */
    public static DigestAccumulator registered(SparkContext context) {
        var made = new DigestAccumulator();
        context.register(made);
        return made;
    }

    /**
     * Makes the filter: a function of both halves of a row's hash, neither of which is null, and of the condition. It
     * is true for each row, and Spark neither repeats nor moves it.
     */
    public UserDefinedFunction function() {
        return functions.udf(new Filter(this), DataTypes.BooleanType).asNondeterministic();
    }

    @Override
    public boolean isZero() {
        return sums[ROWS] == 0;
    }

    @Override
    public DigestAccumulator copy() {
        var copy = new DigestAccumulator();
        copy.add(sums);
        return copy;
    }

    @Override
    public void reset() {
        sums = new long[SUMS];
    }

    @Override
    public void add(long[] more) {
        for (int index = 0; index < SUMS; index++) {
            sums[index] += more[index];
        }
    }

    @Override
    public void merge(AccumulatorV2<long[], long[]> other) {
        add(other.value());
    }

    @Override
    public long[] value() {
        return sums;
    }

    /** Returns four numbers with spaces between: rows, low and high sum of hashes (modulo 2^64), matching rows. */
    public String summary() {
        return sums[ROWS] + " " + sums[LOW] + " " + sums[HIGH] + " " + sums[MATCHING];
    }

    /** Adds up the rows of one task. Its sums are added to those of the job when the task ends. */
    public static final class Filter implements UDF3<Long, Long, Boolean, Boolean> {
        private static final long serialVersionUID = 1L;

        private final DigestAccumulator total;
        private transient long[] sums;

        Filter(DigestAccumulator total) {
            this.total = total;
        }

        @Override
        public Boolean call(Long high, Long low, Boolean matching) {
            if (sums == null) {
                begin();
            }
            sums[ROWS]++;
            sums[LOW] += low;
            sums[HIGH] += high;
            if (Boolean.TRUE.equals(matching)) {
                sums[MATCHING]++;
            }
            return true;
        }

        private void begin() {
            long[] ofTask = new long[SUMS];
            TaskCompletionListener addUp = task -> total.add(ofTask);
            TaskContext.get().addTaskCompletionListener(addUp);
            sums = ofTask;
        }
    }
}
