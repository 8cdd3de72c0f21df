package tidemark.count;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.apache.spark.SparkContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * Adds up the event counts of all tasks of a job on the driver. A task that failed adds nothing, and a task of a
 * job's last stage adds once, however often it was tried.
 */
public final class EventCountsAccumulator extends AccumulatorV2<EventCounts, EventCounts> {
    private static final long serialVersionUID = 1L;

    /**
     * Bytes of an answer that go out at once. The rest of a longer one is sent when its first part has been
     * acknowledged, which Linux puts off for 40 ms.
     */
    private static final int PART_BYTES = 6000;
    private static final int MOST_PARTS = 64;

    private EventCounts total = new EventCounts();

    /** Makes an accumulator that Spark knows, for one job at a time. */
    public static EventCountsAccumulator registered(SparkContext context) {
        var made = new EventCountsAccumulator();
        context.register(made);
        return made;
    }

    @Override
    public boolean isZero() {
        return total.isEmpty();
    }

    @Override
    public EventCountsAccumulator copy() {
        var copy = new EventCountsAccumulator();
        copy.total.merge(total);
        return copy;
    }

    @Override
    public void reset() {
        total = new EventCounts();
    }

    @Override
    public void add(EventCounts counts) {
        total.merge(counts);
    }

    @Override
    public void merge(AccumulatorV2<EventCounts, EventCounts> other) {
        total.merge(other.value());
    }

    @Override
    public EventCounts value() {
        return total;
    }

    /** Returns the counts as JSON (see `EventCounts.toList`) packed by gzip, cut into parts. */
    public List<byte[]> packed() throws IOException {
        var packing = new ByteArrayOutputStream();
        new ObjectMapper().writeValue(new GZIPOutputStream(packing), total.toList());
        byte[] packed = packing.toByteArray();
        int size = packed.length > MOST_PARTS * PART_BYTES ? packed.length : PART_BYTES;
        List<byte[]> parts = new ArrayList<>();
        for (int from = 0; from < packed.length; from += size) {
            parts.add(Arrays.copyOfRange(packed, from, Math.min(from + size, packed.length)));
        }
        return parts;
    }
}
