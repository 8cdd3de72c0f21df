package tidemark.rows;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/** The lowest watermark of all partitions seen so far; null while one of them has none. */
public final class LowestWatermark implements UDF2<byte[], Long, Long> {
    private static final long serialVersionUID = 1L;

    private final Map<ByteBuffer, Long> watermarks = new HashMap<>();
    /** The number of partitions by their watermark. */
    private final TreeMap<Long, Integer> partitions = new TreeMap<>();
    private int withoutWatermark;

    /** Returns the lowest watermark as a function of columns, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf(new LowestWatermark(), DataTypes.LongType).asNondeterministic();
    }

    /**
     * Returns the lowest watermark once a partition has reached one, microseconds since 1970 (UTC).
     *
     * @param partition the partition, not null
     * @param watermark the watermark that it reaches, or null; an earlier one than before changes nothing
     */
    @Override
    public Long call(byte[] partition, Long watermark) {
        ByteBuffer key = ByteBuffer.wrap(partition);
        Long before = this.watermarks.get(key);
        if (before == null && !this.watermarks.containsKey(key)) {
            this.withoutWatermark++;
        }
        Long after = Nullable.max(before, watermark);
        this.watermarks.put(key, after);
        if (after != null && !after.equals(before)) {
            this.partitions.merge(after, 1, Integer::sum);
            if (before == null) {
                this.withoutWatermark--;
            } else {
                this.partitions.computeIfPresent(before, (mark, count) -> count == 1 ? null : count - 1);
            }
        }
        return this.withoutWatermark > 0 ? null : this.partitions.firstKey();
    }
}
