package tidemark;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.SparkContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * The tallies of all tasks of a job, added up on the driver. A task that failed adds nothing, and one of a job's
 * last stage adds once, however often it was tried.
 */
public final class Tallied extends AccumulatorV2 {
    private static final long serialVersionUID = 1L;

    private Tally whole = new Tally();

    /** One that Spark knows of, for one job. */
    public static Tallied registered(SparkContext context) {
        Tallied made = new Tallied();
        context.register(made);
        return made;
    }

    public boolean isZero() {
        return this.whole.isEmpty();
    }

    public AccumulatorV2 copy() {
        Tallied copy = new Tallied();
        copy.whole.merge(this.whole);
        return copy;
    }

    public void reset() {
        this.whole = new Tally();
    }

    public void add(Object tally) {
        this.whole.merge((Tally) tally);
    }

    public void merge(AccumulatorV2 other) {
        this.whole.merge(((Tallied) other).whole);
    }

    public Object value() {
        return this.whole;
    }

    /** What was counted, as JSON. */
    public String told() throws java.io.IOException {
        return new ObjectMapper().writeValueAsString(this.whole.told());
    }
}
