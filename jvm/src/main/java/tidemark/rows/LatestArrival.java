package tidemark.rows;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * The latest arrival of a partition's rows so far in the same cell, for rows of several partitions in turns.
 * Arguments: partition (bytes), cell (a number, which does not come back once it has changed), arrival.
 */
public final class LatestArrival implements UDF3 {
    private static final long serialVersionUID = 1L;

    private final Map latest = new HashMap();

    /** As a column function, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf((UDF3) new LatestArrival(), DataTypes.LongType).asNondeterministic();
    }

    public Object call(Object partition, Object cell, Object own) {
        Object name = partition == null ? "" : ByteBuffer.wrap((byte[]) partition);
        Object[] found = (Object[]) this.latest.get(name);
        if (found == null || !found[0].equals(cell)) {
            found = new Object[] {cell, null};
            this.latest.put(name, found);
        }
        found[1] = PrecedingMaximum.latest((Long) found[1], (Long) own);
        return found[1];
    }
}
