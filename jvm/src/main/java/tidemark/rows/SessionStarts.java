package tidemark.rows;

import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * The start of each row's session, for the rows of a group in the order of their starts. A row joins the session of the
 * row before it if it starts before that session's end: its latest row's end, less a tick and plus the gap, but not
 * later than the longest duration after its start.
 *
 * Arguments: what names the group (any value that is equal to itself, or null), start, end (microseconds).
 */
public final class SessionStarts implements UDF3 {
    private static final long serialVersionUID = 1L;

    private final long gap;
    private final long longest;
    private boolean open;
    private Object group;
    private long start;
    private long end;

    private SessionStarts(long gap, long longest) {
        this.gap = gap;
        this.longest = longest;
    }

    /** As a column function, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function(long gap, long longest) {
        return functions.udf((UDF3) new SessionStarts(gap, longest), DataTypes.LongType).asNondeterministic();
    }

    public Object call(Object group, Object start, Object end) {
        long from = ((Long) start).longValue();
        if (!this.open || !PrecedingMaximum.same(group, this.group) || from >= this.end) {
            this.open = true;
            this.group = group;
            this.start = from;
            this.end = from;
        }
        long reached = Math.min(((Long) end).longValue() - 1 + this.gap, this.start + this.longest);
        this.end = Math.max(this.end, reached);
        return Long.valueOf(this.start);
    }
}
