package tidemark.count;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * Adds up what all tasks of a job counted under the candidates of a grid, by partition or period, on the driver. The places of
 * counts are those of `CandidateGrid`. A task that failed adds nothing, and a task of a job's last stage adds once,
 * however often it was tried.
 */
public final class CandidateAccumulator extends AccumulatorV2<Map<String, long[]>, Map<String, long[]>> {
    private static final long serialVersionUID = 1L;

    private Map<String, long[]> total = new HashMap<>();

    /** Makes an accumulator that Spark knows, for one job. */
    public static CandidateAccumulator registered(SparkContext context) {
        var made = new CandidateAccumulator();
        context.register(made);
        return made;
    }

    @Override
    public boolean isZero() {
        return total.isEmpty();
    }

    @Override
    public CandidateAccumulator copy() {
        var copy = new CandidateAccumulator();
        copy.add(total);
        return copy;
    }

    @Override
    public void reset() {
        total = new HashMap<>();
    }

    @Override
    public void add(Map<String, long[]> counts) {
        counts.forEach((name, theirs) -> {
            long[] ours = total.computeIfAbsent(name, absent -> new long[theirs.length]);
            for (int index = 0; index < ours.length; index++) {
                ours[index] += theirs[index];
            }
        });
    }

    @Override
    public void merge(AccumulatorV2<Map<String, long[]>, Map<String, long[]>> other) {
        add(other.value());
    }

    @Override
    public Map<String, long[]> value() {
        return total;
    }

    /** Returns the counts by name, as a JSON object of arrays. */
    public String json() throws JsonProcessingException {
        return new ObjectMapper().writeValueAsString(total);
    }
}
