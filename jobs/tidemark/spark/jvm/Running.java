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
        "group BIGINT, number BIGINT, arrival BIGINT, watermark BIGINT, high BIGINT";

    private final Unseen unseen;
    private Object chunk;
    private Object partition;
    private long group;
    private long number;
    private Long arrival;
    private Object watermark;
    private Object high;

    private Running(Unseen unseen) {
        this.unseen = unseen;
    }

    /** As a column function, which Spark must neither repeat nor move; groups without a seed start as `unseen`. */
    public static UserDefinedFunction function(Unseen unseen) {
        return functions.udf((UDF6) new Running(unseen), DataType.fromDDL(GIVES)).asNondeterministic();
    }

    public Object call(Object chunk, Object partition, Object own, Object rows, Object watermark, Object high) {
        if (!Before.same(chunk, this.chunk) || !Before.same(partition, this.partition)) {
            begin(chunk, partition);
        }
        if (rows == null) {
            this.number++;
        } else {
            this.number += ((Long) rows).longValue();
            this.watermark = watermark;
            this.high = high;
        }
        this.arrival = Before.latest(this.arrival, (Long) own);
        return RowFactory.create(new Object[] {
            Long.valueOf(this.group), Long.valueOf(this.number), this.arrival, this.watermark, this.high
        });
    }

    private void begin(Object chunk, Object partition) {
        this.chunk = chunk;
        this.partition = partition;
        this.group++;
        this.number = 0;
        this.arrival = null;
        this.watermark = this.unseen.watermark();
        this.high = null;
    }
}
