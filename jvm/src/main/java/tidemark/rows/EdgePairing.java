package tidemark.rows;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Objects;
import java.util.Queue;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF6;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;

/**
 * Pairs each end edge with the start edge that it closes: the oldest open one of its group. Rows come group after
 * group, in the order of the log.
 */
public final class EdgePairing implements UDF6<byte[], byte[], Long, String, Long, Long, Row> {
    private static final long serialVersionUID = 1L;

    private static final String RESULT = "offset BIGINT, start BIGINT";

    private boolean started;
    private byte[] partition;
    private byte[] match;
    private Long originalStart;
    private final Queue<Row> openStarts = new ArrayDeque<>();

    /** Returns the pairing as a function of columns, a struct, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf(new EdgePairing(), DataType.fromDDL(RESULT)).asNondeterministic();
    }

    /**
     * Returns the offset and the start in force of the start edge that a row closes. It is null for other rows and if
     * no start edge is open. Times are microseconds since 1970 (UTC). The first three arguments name the group.
     *
     * @param match the bytes by which edges of a lifetime match
     * @param originalStart the start that both edges of a lifetime have
     * @param role `start` opens a lifetime, `end` closes one, `left` would have closed one; null for other rows
     * @param offset the row's offset
     * @param start the row's start in force
     */
    @Override
    public Row call(byte[] partition, byte[] match, Long originalStart, String role, Long offset, Long start) {
        if (!this.started
                || !Arrays.equals(partition, this.partition)
                || !Arrays.equals(match, this.match)
                || !Objects.equals(originalStart, this.originalStart)) {
            this.started = true;
            this.partition = partition;
            this.match = match;
            this.originalStart = originalStart;
            this.openStarts.clear();
        }
        if (role == null) {
            return null;
        }
        return switch (role) {
            case "start" -> {
                this.openStarts.add(RowFactory.create(offset, start));
                yield null;
            }
            case "end" -> this.openStarts.poll();
            case "left" -> this.openStarts.peek();
            default -> null;
        };
    }
}
