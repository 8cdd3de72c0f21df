package tidemark.rows;

import java.io.Serializable;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;
import tidemark.plans.PlanNumber;

/**
 * The state of a group by each row of a task's sorted rows: the number of rows so far, the latest arrival, and the
 * watermark and highest time from the group's seed. A seed is a row before the group's rows that has the state of
 * earlier batches. A window function could compute this, but keeps all rows of a group until the last has come.
 */
public final class RunningState implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final String RESULT =
        "group BIGINT NOT NULL, number BIGINT NOT NULL, arrival BIGINT, watermark BIGINT, high BIGINT";
    private static final int GROUP = 0;
    private static final int NUMBER = 1;
    private static final int ARRIVAL = 2;
    private static final int WATERMARK = 3;
    private static final int HIGH = 4;

    private final PlanNumber unseenWatermark;
    private final Object[] values = new Object[5];
    private final InternalRow row = new GenericInternalRow(this.values);
    private int chunk;
    private UTF8String partition;
    private long group;
    private long number;
    private long arrival;

    /** Makes the state before the first row of a task. */
    RunningState(PlanNumber unseenWatermark) {
        this.unseenWatermark = unseenWatermark;
    }

    /**
     * Returns the state as a column, a struct. The arguments are those of `advance`.
     *
     * @param unseenWatermark the watermark of groups without a seed
     */
    public static Column function(Seq<Column> arguments, PlanNumber unseenWatermark) {
        return Invoked.inTurn(new RunningState(unseenWatermark), "advance", DataType.fromDDL(RESULT), arguments);
    }

    /**
     * Returns the state by a row: group, number, arrival, watermark and high. The next call changes the row that is
     * returned. Times are microseconds since 1970 (UTC); arguments from `arrival` on are `NONE` if there is none.
     *
     * @param chunk the number of the row's chunk; with the partition it names the group
     * @param partition the row's partition, not null
     * @param arrival the row's arrival
     * @param seedRows the number of earlier rows if the row is a seed
     * @param seedWatermark the watermark if the row is a seed
     * @param seedHigh the highest time of earlier rows if the row is a seed
     */
    public InternalRow advance(
            int chunk, UTF8String partition, long arrival, long seedRows, long seedWatermark, long seedHigh) {
        if (this.partition == null || chunk != this.chunk || !this.partition.equals(partition)) {
            startGroup(chunk, partition);
        }
        if (seedRows == Nullable.NONE) {
            this.number++;
        } else {
            this.number += seedRows;
            this.values[WATERMARK] = Nullable.box(seedWatermark);
            this.values[HIGH] = Nullable.box(seedHigh);
        }
        this.values[NUMBER] = this.number;
        if (arrival > this.arrival) {
            this.arrival = arrival;
            this.values[ARRIVAL] = arrival;
        }
        return this.row;
    }

    private void startGroup(int chunk, UTF8String partition) {
        this.chunk = chunk;
        this.partition = partition.copy();
        this.group++;
        this.number = 0;
        this.arrival = Nullable.NONE;
        this.values[GROUP] = this.group;
        this.values[ARRIVAL] = null;
        this.values[WATERMARK] = this.unseenWatermark.number();
        this.values[HIGH] = null;
    }
}
