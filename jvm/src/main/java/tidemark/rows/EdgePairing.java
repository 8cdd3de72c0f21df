package tidemark.rows;

import java.util.ArrayDeque;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF6;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;

/**
 * The start edge that an end edge closes: the oldest open one of its group, in the order of the log. Null for other
 * rows, and for an end edge without one.
 *
 * Arguments: what names the group (partition and match as bytes, original start), the row's role, its offset and its
 * start in force. Roles: `start` opens a lifetime, `end` closes one, `left` would have closed one.
 */
public final class EdgePairing implements UDF6 {
    private static final long serialVersionUID = 1L;

    private static final String GIVES = "offset BIGINT, start BIGINT";

    private boolean begun;
    private Object partition;
    private Object match;
    private Object original;
    private final ArrayDeque open = new ArrayDeque();

    /** As a column function, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf((UDF6) new EdgePairing(), DataType.fromDDL(GIVES)).asNondeterministic();
    }

    public Object call(Object partition, Object match, Object original, Object role, Object offset, Object start) {
        if (!this.begun
                || !PrecedingMaximum.same(partition, this.partition)
                || !PrecedingMaximum.same(match, this.match)
                || !PrecedingMaximum.same(original, this.original)) {
            this.begun = true;
            this.partition = partition;
            this.match = match;
            this.original = original;
            this.open.clear();
        }
        if ("start".equals(role)) {
            this.open.add(RowFactory.create(new Object[] {offset, start}));
        } else if ("end".equals(role)) {
            return (Row) this.open.poll();
        } else if ("left".equals(role)) {
            return (Row) this.open.peek();
        }
        return null;
    }
}
