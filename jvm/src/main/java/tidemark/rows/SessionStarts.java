package tidemark.rows;

import java.util.Objects;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * The start of each row's session. Rows come group after group, in the order of their starts. A row joins the open
 * session if it starts before the session's end. That is the latest end of the session's rows, less a microsecond and
 * plus the gap, but at most the longest duration after the session's start.
 */
public final class SessionStarts implements UDF3<Object, Long, Long, Long> {
    private static final long serialVersionUID = 1L;

    private final long gap;
    private final long maxDuration;
    private boolean open;
    private Object group;
    private long start;
    private long end;

    /** Makes sessions; see `function`. */
    SessionStarts(long gap, long maxDuration) {
        this.gap = gap;
        this.maxDuration = maxDuration;
    }

    /**
     * Returns the start as a function of columns, which Spark must neither repeat nor move.
     *
     * @param gap microseconds without a row after which a session ends
     * @param maxDuration the longest duration of a session, microseconds; `Long.MAX_VALUE` for any
     */
    public static UserDefinedFunction function(long gap, long maxDuration) {
        return functions.udf(new SessionStarts(gap, maxDuration), DataTypes.LongType).asNondeterministic();
    }

    /**
     * Returns the start of a row's session, microseconds since 1970 (UTC).
     *
     * @param group the value that names the group; it has `equals`, or is bytes or null
     * @param start the row's start, not null
     * @param end the row's end, not null
     */
    @Override
    public Long call(Object group, Long start, Long end) {
        if (!this.open || !Objects.deepEquals(group, this.group) || start >= this.end) {
            this.open = true;
            this.group = group;
            this.start = start;
            this.end = start;
        }
        long lasting = Math.min(end - 1 + this.gap - this.start, this.maxDuration);
        this.end = Math.max(this.end, this.start + lasting);
        return this.start;
    }
}
