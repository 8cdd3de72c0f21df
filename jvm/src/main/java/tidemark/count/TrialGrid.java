package tidemark.count;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * What rows are tried with: tolerances in microseconds, how far watermarks trail the highest time, what the early step
 * does, the watermarks in which partitions start late, and the highest times that a partition's earlier chunks left.
 */
final class TrialGrid implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    /** A time before all times: what is subtracted from it leaves it before all times. */
    static final long NONE = -(1L << 62);
    static final int LANES = 2;

    /** Late tolerances, ascending; `off`, which is last, is larger than all there can be. */
    final long[] lates;
    final boolean off;
    final long[][] behind;
    final boolean early;
    final long earliness;
    final boolean adjustsEarly;
    private final Map starts = new HashMap();
    private final Map highs = new HashMap();

    private TrialGrid(Map told) {
        List given = (List) told.get("lates");
        this.lates = new long[given.size()];
        for (int index = 0; index < this.lates.length; index++) {
            Object late = given.get(index);
            this.lates[index] = late == null ? Long.MAX_VALUE : ((Number) late).longValue();
        }
        this.off = this.lates[this.lates.length - 1] == Long.MAX_VALUE;
        this.behind = cells((List) told.get("behind"));
        this.early = told.get("early") != null;
        this.earliness = this.early ? ((Number) told.get("early")).longValue() : 0;
        this.adjustsEarly = Boolean.TRUE.equals(told.get("adjusts_early"));
        Iterator entries = ((Map) told.get("starts")).entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            this.starts.put(entry.getKey(), cells((List) entry.getValue()));
        }
        entries = ((List) told.get("highs")).iterator();
        while (entries.hasNext()) {
            List chunk = (List) entries.next();
            this.highs.put(chunk.get(0) + "/" + chunk.get(1), cells((List) chunk.get(2)));
        }
    }

    static TrialGrid read(String json) throws java.io.IOException {
        return new TrialGrid((Map) new ObjectMapper().readValue(json, Map.class));
    }

    boolean isOff(int late) {
        return this.off && late == this.lates.length - 1;
    }

    int outOfOrder() {
        return this.behind[0].length;
    }

    /** How many counts there are of a partition: see `place`; then the late rows by tolerance, those dropped as early,
     * and those quarantined. */
    int size() {
        return lateRows(this.lates.length) + 2;
    }

    /** Where rows are counted that are out of order under the first so many tolerances. */
    int place(int lane, int late, boolean moved, int many) {
        return ((lane * this.lates.length + late) * 2 + (moved ? 1 : 0)) * (outOfOrder() + 1) + many;
    }

    int lateRows(int late) {
        return LANES * this.lates.length * 2 * (outOfOrder() + 1) + late;
    }

    /** The watermarks in which a partition starts, by tolerances; null where it does not start late. */
    long[][] starts(String partition) {
        return (long[][]) this.starts.get(partition);
    }

    /** The highest time before a group's rows, by lane and late tolerance; of what is not a chunk, none. */
    long[][] highs(String partition, Object part) {
        long[][] found = part instanceof Long ? (long[][]) this.highs.get(partition + "/" + part) : null;
        long[][] copy = new long[LANES][this.lates.length];
        for (int lane = 0; lane < LANES; lane++) {
            for (int late = 0; late < this.lates.length; late++) {
                copy[lane][late] = found == null ? NONE : found[lane][late];
            }
        }
        return copy;
    }

    private static long[][] cells(List lines) {
        long[][] found = new long[lines.size()][];
        for (int line = 0; line < found.length; line++) {
            List numbers = (List) lines.get(line);
            found[line] = new long[numbers.size()];
            for (int index = 0; index < found[line].length; index++) {
                found[line][index] = ((Number) numbers.get(index)).longValue();
            }
        }
        return found;
    }
}
