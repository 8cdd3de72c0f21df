package tidemark.count;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * A grid of candidates, pairs of a late and an out-of-order tolerance, with all that a row needs to be judged under
 * each. Times and tolerances are microseconds. Watermarks and highest times are listed by late tolerance first.
 */
final class CandidateGrid implements Serializable {
    private static final long serialVersionUID = 1L;

    /** A time before all times: so is the difference between it and any tolerance. */
    static final long NONE = -(1L << 62);
    /** The two ways to treat late rows, each with highest times of its own: 0 adjusts them, 1 drops them. */
    static final int LANES = 2;

    /** Late tolerances, ascending. The last may be `Long.MAX_VALUE`: no row is late. */
    final long[] lates;
    /** Distances between the highest time and the watermark, by late and out-of-order tolerance; ascending. */
    final long[][] behind;
    /** True if rows may be early. */
    final boolean hasEarly;
    /** The early tolerance; 0 if there is none. */
    final long early;
    final boolean adjustsEarly;
    private final Map<String, long[][]> starts = new HashMap<>();
    private final Map<String, long[][]> highs = new HashMap<>();

    private CandidateGrid(JsonNode json) throws IOException {
        lates = new long[json.get("lates").size()];
        for (int index = 0; index < lates.length; index++) {
            JsonNode late = json.get("lates").get(index);
            lates[index] = late.isNull() ? Long.MAX_VALUE : late.longValue();
        }
        behind = numbers(json.get("behind"));
        hasEarly = !json.get("early").isNull();
        early = json.get("early").longValue();
        adjustsEarly = json.get("adjusts_early").booleanValue();
        for (Map.Entry<String, JsonNode> start : json.get("starts").properties()) {
            starts.put(start.getKey(), numbers(start.getValue()));
        }
        for (JsonNode chunk : json.get("highs")) {
            highs.put(chunkKey(chunk.get(0).textValue(), chunk.get(1).longValue()), numbers(chunk.get(2)));
        }
    }

    /**
     * Reads a grid.
     *
     * @param json an object: `lates` (null for off), `behind`, `early` (or null), `adjusts_early`, `starts`
     * (watermarks in which partitions start late, by name), `highs` (array of [partition, chunk, highest times before
     * it])
     * @throws IOException if the text is not such JSON
     */
    static CandidateGrid read(String json) throws IOException {
        return new CandidateGrid(new ObjectMapper().readTree(json));
    }

    /** Returns true if under a late tolerance no row is late. */
    boolean isOff(int late) {
        return lates[late] == Long.MAX_VALUE;
    }

    /** Returns the number of out-of-order tolerances. */
    int outOfOrders() {
        return behind[0].length;
    }

    /**
     * Returns the number of counts of a partition: those at `place`, late rows by late tolerance, intervals that the
     * late step and those that the out-of-order step moves to their end, rows dropped as early, and quarantined rows.
     */
    int size() {
        return emptiedBehind(LANES, 0, 0) + 2;
    }

    /** Returns the place of the count of rows that are out of order under the first `many` tolerances. */
    int place(int lane, int late, boolean moved, int many) {
        return ((lane * lates.length + late) * 2 + (moved ? 1 : 0)) * (outOfOrders() + 1) + many;
    }

    /** Returns the place of the count of late rows. */
    int lateRows(int late) {
        return LANES * lates.length * 2 * (outOfOrders() + 1) + late;
    }

    /** Returns the place of the count of intervals that the late step moves to their end. */
    int emptiedLate(int late) {
        return lateRows(lates.length) + late;
    }

    /** Returns the place of the count of intervals that a watermark moves to their end under the first `many` tolerances. */
    int emptiedBehind(int lane, int late, int many) {
        return emptiedLate(lates.length) + (lane * lates.length + late) * (outOfOrders() + 1) + many;
    }

    /** Returns the place of the count of rows that are dropped as early. */
    int earlyRows() {
        return size() - 2;
    }

    /** Returns the place of the count of quarantined rows. */
    int quarantinedRows() {
        return size() - 1;
    }

    /** Returns the watermarks in which a partition starts, by tolerances; null if it does not start late. */
    long[][] starts(String partition) {
        return starts.get(partition);
    }

    /**
     * Returns a copy of the highest times before a group's rows, by lane and late tolerance.
     *
     * @param part the number of a chunk; of anything else there are no earlier rows
     */
    long[][] highs(String partition, Object part) {
        long[][] found = part instanceof Long chunk ? highs.get(chunkKey(partition, chunk)) : null;
        long[][] copy = new long[LANES][lates.length];
        for (int lane = 0; lane < LANES; lane++) {
            if (found == null) {
                Arrays.fill(copy[lane], NONE);
            } else {
                System.arraycopy(found[lane], 0, copy[lane], 0, lates.length);
            }
        }
        return copy;
    }

    private static String chunkKey(String partition, long chunk) {
        return partition + "/" + chunk;
    }

    private static long[][] numbers(JsonNode json) throws IOException {
        return new ObjectMapper().enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .treeToValue(json, long[][].class);
    }
}
