package tidemark.rows;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/** The latest arrival so far of a partition's rows in their cell. Rows of several partitions may come in turns. */
public final class LatestArrival implements UDF3<byte[], Long, Long, Long> {
    private static final long serialVersionUID = 1L;

    private final Map<ByteBuffer, Cell> cells = new HashMap<>();

    private static final class Cell {
        private final Long number;
        private Long latest;

        Cell(Long number) {
            this.number = number;
        }
    }

    /** Returns the latest arrival as a function of columns, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf(new LatestArrival(), DataTypes.LongType).asNondeterministic();
    }

    /**
     * Returns the latest arrival by a row, microseconds since 1970 (UTC); null if no row has had one.
     *
     * @param partition the row's partition, or null
     * @param cell the number of the row's cell, not null; a cell does not come back once the partition has left it
     * @param arrival the row's own arrival, or null
     */
    @Override
    public Long call(byte[] partition, Long cell, Long arrival) {
        ByteBuffer key = partition == null ? null : ByteBuffer.wrap(partition);
        Cell found = this.cells.get(key);
        if (found == null || !found.number.equals(cell)) {
            found = new Cell(cell);
            this.cells.put(key, found);
        }
        found.latest = Nullable.max(found.latest, arrival);
        return found.latest;
    }
}
