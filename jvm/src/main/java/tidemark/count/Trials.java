package tidemark.count;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * The counts of all tasks of a trial by partition, added up on the driver. A task that failed adds nothing, and one of a
 * job's last stage adds once, however often it was tried.
 */
public final class Trials extends AccumulatorV2 {
    private static final long serialVersionUID = 1L;

    private Map whole = new HashMap();

    /** One that Spark knows of, for one job. */
    public static Trials registered(SparkContext context) {
        Trials made = new Trials();
        context.register(made);
        return made;
    }

    public boolean isZero() {
        return this.whole.isEmpty();
    }

    public AccumulatorV2 copy() {
        Trials copy = new Trials();
        copy.add(this.whole);
        return copy;
    }

    public void reset() {
        this.whole = new HashMap();
    }

    public void add(Object counted) {
        Iterator entries = ((Map) counted).entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            long[] theirs = (long[]) entry.getValue();
            long[] ours = (long[]) this.whole.get(entry.getKey());
            if (ours == null) {
                this.whole.put(entry.getKey(), theirs.clone());
                continue;
            }
            for (int index = 0; index < ours.length; index++) {
                ours[index] += theirs[index];
            }
        }
    }

    public void merge(AccumulatorV2 other) {
        add(((Trials) other).whole);
    }

    public Object value() {
        return this.whole;
    }

    /** The counts by partition, as JSON. */
    public String told() throws java.io.IOException {
        return new ObjectMapper().writeValueAsString(this.whole);
    }
}
