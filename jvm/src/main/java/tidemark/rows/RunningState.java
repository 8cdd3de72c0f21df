package tidemark.rows;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;
import tidemark.plans.PlanNumber;

/**
 * What has been reached by each row of a task's sorted rows, group after group: how many rows there were, the
 * latest arrival, and what the group's seed said. A window function gives the same, but holds all rows of a
 * group until the last has come.
 *
 * Arguments: chunk, partition, arrival, then of a seed its rows, watermark and highest time; numbers are `NONE` where
 * they would be null. A row is a seed if it tells its rows.
 */
public final class RunningState implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    /** Stands for no number. */
    public static final long NONE = Long.MIN_VALUE;

    private static final String GIVES =
        "group BIGINT NOT NULL, number BIGINT NOT NULL, arrival BIGINT, watermark BIGINT, high BIGINT";

    private final PlanNumber unseen;
    private final Object[] told = new Object[5];
    private final InternalRow row = new GenericInternalRow(this.told);
    private int chunk;
    private UTF8String partition;
    private long group;
    private long number;
    private long arrival;

    private RunningState(PlanNumber unseen) {
        this.unseen = unseen;
    }

    /** As a column; groups without a seed start as `unseen`. */
    public static Column function(Seq arguments, PlanNumber unseen) {
        return Invoked.inTurn(new RunningState(unseen), "call", DataType.fromDDL(GIVES), arguments);
    }

    /** What is told is good until the next row's. */
    public InternalRow call(int chunk, UTF8String partition, long own, long rows, long watermark, long high) {
        if (this.partition == null || chunk != this.chunk || !this.partition.equals(partition)) {
            begin(chunk, partition);
        }
        if (rows == NONE) {
            this.number++;
        } else {
            this.number += rows;
            this.told[3] = known(watermark);
            this.told[4] = known(high);
        }
        this.told[1] = Long.valueOf(this.number);
        if (own > this.arrival) {
            this.arrival = own;
            this.told[2] = Long.valueOf(own);
        }
        return this.row;
    }

    private void begin(int chunk, UTF8String partition) {
        this.chunk = chunk;
        this.partition = partition.copy();
        this.group++;
        this.number = 0;
        this.arrival = NONE;
        this.told[0] = Long.valueOf(this.group);
        this.told[2] = null;
        this.told[3] = this.unseen.number();
        this.told[4] = null;
    }

    static Long known(long number) {
        return number == NONE ? null : Long.valueOf(number);
    }
}
