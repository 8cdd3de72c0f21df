package tidemark;

import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF6;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;

/**
 * What has been reached by each row of a task's sorted rows, group after group: how many rows there were, the
 * latest arrival, and what the group's seed said. A window function gives the same, but holds all rows of a
 * group until the last has come.
 *
 * Arguments: chunk, partition (bytes), arrival, then of a seed its rows, watermark and highest time. A row is
 * a seed if its rows are not null.
 */
public final class Running implements UDF6 {
    private static final long serialVersionUID = 1L;

    private static final String GIVES =
        "group BIGINT, number BIGINT, arrival BIGINT, seeded BOOLEAN, watermark BIGINT, high BIGINT";

    private Object chunk;
    private Object partition;
    private long group;
    private long number;
    private Long arrival;
    private Object seeded;
    private Object watermark;
    private Object high;

    /** As a column function, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf((UDF6) new Running(), DataType.fromDDL(GIVES)).asNondeterministic();
    }

    public Object call(Object chunk, Object partition, Object own, Object rows, Object watermark, Object high) {
        if (!Before.same(chunk, this.chunk) || !Before.same(partition, this.partition)) {
            begin(chunk, partition);
        }
        if (rows == null) {
            this.number++;
        } else {
            this.number += ((Long) rows).longValue();
            this.seeded = Boolean.TRUE;
            this.watermark = watermark;
            this.high = high;
        }
        this.arrival = Before.latest(this.arrival, (Long) own);
        return RowFactory.create(new Object[] {
            Long.valueOf(this.group), Long.valueOf(this.number), this.arrival, this.seeded, this.watermark, this.high
        });
    }

    private void begin(Object chunk, Object partition) {
        this.chunk = chunk;
        this.partition = partition;
        this.group++;
        this.number = 0;
        this.arrival = null;
        this.seeded = Boolean.FALSE;
        this.watermark = null;
        this.high = null;
    }
}
