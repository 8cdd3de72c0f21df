package tidemark.rows;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.api.java.UDF5;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * The bounds of the snapshot windows that a row is alive in. Each window is between two successive bounds. Bounds are
 * the starts and ends of a group's rows, which come latest first: all that lie within a row's lifetime come before
 * the row. Only these times are kept, not rows.
 */
public final class SnapshotBounds implements UDF5<Object, Long, Long, Long, Long, List<Long>> {
    private static final long serialVersionUID = 1L;

    private Object group;
    /** Bounds so far, latest first. */
    private long[] bounds = new long[64];
    private int count;

    /** Returns the bounds as a function of columns, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf(new SnapshotBounds(), DataTypes.createArrayType(DataTypes.LongType))
            .asNondeterministic();
    }

    /**
     * Returns the bounds of a row's windows, earliest first; null if there is no such window. Times are microseconds
     * since 1970 (UTC).
     *
     * @param group the value that names the group; it has `equals`, or is bytes or null
     * @param time a row's start, or an end; not null
     * @param end the row's end; null if `time` is an end
     * @param after the time after which windows end; null for all
     * @param until the latest end of windows; null for all
     */
    @Override
    public List<Long> call(Object group, Long time, Long end, Long after, Long until) {
        if (this.count == 0 || !Objects.deepEquals(group, this.group)) {
            this.group = group;
            this.count = 0;
        }
        add(time);
        if (end == null) {
            return null;
        }
        int last = countAfter(end);
        if (until != null) {
            last = Math.max(last, countAfter(until));
        }
        int first = this.count - 2;
        if (after != null) {
            first = Math.min(first, countAfter(after) - 1);
        }
        return first < last ? null : ascending(first + 1, last);
    }

    private void add(long time) {
        if (this.count > 0 && this.bounds[this.count - 1] == time) {
            return;
        }
        if (this.count == this.bounds.length) {
            this.bounds = Arrays.copyOf(this.bounds, 2 * this.count);
        }
        this.bounds[this.count++] = time;
    }

    /** Returns the number of bounds after a time. */
    private int countAfter(long time) {
        int low = 0;
        int high = this.count;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (this.bounds[middle] > time) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private List<Long> ascending(int first, int last) {
        List<Long> found = new ArrayList<>(first - last + 1);
        for (int index = first; index >= last; index--) {
            found.add(this.bounds[index]);
        }
        return found;
    }
}
