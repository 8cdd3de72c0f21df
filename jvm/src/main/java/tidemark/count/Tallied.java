package tidemark.count;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.apache.spark.SparkContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * The tallies of all tasks of a job, added up on the driver. A task that failed adds nothing, and one of a job's
 * last stage adds once, however often it was tried.
 */
public final class Tallied extends AccumulatorV2 {
    private static final long serialVersionUID = 1L;

    /** Bytes of an answer that goes out at once. What is left of a longer one is sent when its first part has been
     * acknowledged, which Linux puts off for 40 ms. */
    private static final int PART = 6000;
    private static final int MOST_PARTS = 64;

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

    /** What was counted, as JSON packed by gzip, cut into parts. */
    public List told() throws IOException {
        ByteArrayOutputStream packing = new ByteArrayOutputStream();
        OutputStream text = new GZIPOutputStream(packing);
        new ObjectMapper().writeValue(text, this.whole.told());
        byte[] packed = packing.toByteArray();
        int size = packed.length > MOST_PARTS * PART ? packed.length : PART;
        List parts = new ArrayList();
        for (int from = 0; from < packed.length; from += size) {
            parts.add(Arrays.copyOfRange(packed, from, Math.min(from + size, packed.length)));
        }
        return parts;
    }
}
