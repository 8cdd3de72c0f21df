package tidemark.rows;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.api.java.UDF5;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * The bounds of the windows that a row is alive in, earliest first: each window is between two successive bounds. Bounds
 * are the starts and ends of the rows of a group, which come latest first, so that all that lie within a row's lifetime
 * have been seen before it. Only these times are held, not rows.
 *
 * Arguments: what names the group (any value that is equal to itself, or null), the time, which is a row's start or an
 * end; of a row its end, of an end null; and of windows that are asked for, the time after which they end and the latest
 * at which they do (null: all). Null where there is no such window.
 */
public final class SnapshotBounds implements UDF5 {
    private static final long serialVersionUID = 1L;

    private Object group;
    private long[] bounds = new long[64];
    private int count;

    /** As a column function, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf((UDF5) new SnapshotBounds(), DataTypes.createArrayType(DataTypes.LongType))
            .asNondeterministic();
    }

    public Object call(Object group, Object time, Object end, Object after, Object until) {
        if (this.count == 0 || !PrecedingMaximum.same(group, this.group)) {
            this.group = group;
            this.count = 0;
        }
        bound(((Long) time).longValue());
        if (end == null) {
            return null;
        }
        int last = firstNotAbove(((Long) end).longValue());
        if (until != null) {
            last = Math.max(last, firstNotAbove(((Long) until).longValue()));
        }
        int first = this.count - 2;
        if (after != null) {
            first = Math.min(first, firstNotAbove(((Long) after).longValue()) - 1);
        }
        return first < last ? null : listed(first + 1, last);
    }

    private void bound(long time) {
        if (this.count > 0 && this.bounds[this.count - 1] == time) {
            return;
        }
        if (this.count == this.bounds.length) {
            long[] more = new long[2 * this.count];
            System.arraycopy(this.bounds, 0, more, 0, this.count);
            this.bounds = more;
        }
        this.bounds[this.count++] = time;
    }

    /** The number of bounds that are later than a time; they are held latest first. */
    private int firstNotAbove(long time) {
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

    private List listed(int first, int last) {
        List found = new ArrayList();
        for (int index = first; index >= last; index--) {
            found.add(Long.valueOf(this.bounds[index]));
        }
        return found;
    }
}
