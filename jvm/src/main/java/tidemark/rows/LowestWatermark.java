package tidemark.rows;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * The least of the latest marks of all partitions that there were so far; null while one of them has none.
 * Arguments: partition (bytes) and mark, which may be null.
 */
public final class LowestWatermark implements UDF2 {
    private static final long serialVersionUID = 1L;

    private final Map marks = new HashMap();
    private final TreeMap counts = new TreeMap();
    private int without;

    /** As a column function, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf((UDF2) new LowestWatermark(), DataTypes.LongType).asNondeterministic();
    }

    public Object call(Object partition, Object mark) {
        Object name = ByteBuffer.wrap((byte[]) partition);
        Long before = (Long) this.marks.get(name);
        Long after = PrecedingMaximum.latest(before, (Long) mark);
        if (!this.marks.containsKey(name)) {
            this.without++;
        }
        this.marks.put(name, after);
        if (before == null && after != null) {
            this.without--;
            add(after, 1);
        } else if (before != null && !before.equals(after)) {
            add(before, -1);
            add(after, 1);
        }
        return this.without > 0 ? null : this.counts.firstKey();
    }

    private void add(Long mark, int times) {
        Integer known = (Integer) this.counts.get(mark);
        int left = (known == null ? 0 : known.intValue()) + times;
        if (left == 0) {
            this.counts.remove(mark);
        } else {
            this.counts.put(mark, Integer.valueOf(left));
        }
    }
}
