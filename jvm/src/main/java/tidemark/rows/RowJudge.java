package tidemark.rows;

import java.io.Serializable;
import java.util.ArrayList;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/**
 * Judges the rows of sorted groups: the system timestamp of each, its fate, the reasons and the watermark before it.
 * The watermark is the later one of that known before the group and the highest time so far less the disorder. There
 * is one method for each type of the columns that name a group, as in `PrecedingMaximum`.
 */
public final class RowJudge implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final String RESULT =
        "stamp TIMESTAMP, fate STRING NOT NULL, reasons ARRAY<STRING> NOT NULL, watermark TIMESTAMP";
    /** Names of the steps, in the order in which they act; their bits are in this order, too. */
    private static final String[] STEPS = {"early", "late", "out_of_order", "empty"};
    private static final int EARLY = 1;
    private static final int LATE = 2;
    private static final int OUT_OF_ORDER = 4;
    private static final int EMPTY = 8;

    private final PrecedingMaximum highs = new PrecedingMaximum();
    private final TolerancePolicy policy;
    private final long disorder;
    private final long minTime;
    private transient Object[] values;
    private transient InternalRow row;
    /** Reasons by the bits of the steps that act. */
    private transient ArrayData[] reasons;
    private transient UTF8String onTime;
    private transient UTF8String adjusted;
    private transient UTF8String dropped;
    private transient UTF8String quarantined;
    private transient UTF8String duplicate;
    private transient ArrayData duplicates;

    /** Makes a judge for the rows of one task; see `function`. */
    RowJudge(TolerancePolicy policy, long disorder, long minTime) {
        this.policy = policy;
        this.disorder = disorder;
        this.minTime = minTime;
    }

    /**
     * Returns the verdict as a column, a struct. The arguments are those of one of the methods `judge`.
     *
     * @param disorder microseconds that the watermark trails the highest time
     * @param minTime the earliest time, to which a watermark from the highest time is limited
     */
    public static Column function(Seq<Column> arguments, TolerancePolicy policy, long disorder, long minTime) {
        var judge = new RowJudge(policy, disorder, minTime);
        return Invoked.inTurn(judge, "judge", DataType.fromDDL(RESULT), arguments);
    }

    /**
     * Returns the verdict on a row: stamp, fate, reasons and watermark. The next call changes the row that is
     * returned. Times are microseconds since 1970 (UTC), `NONE` if there is none.
     *
     * @param group the first part of the group's name
     * @param part the second part, or null
     * @param badReason the reasons for which the row is quarantined, with commas between; `duplicate` if it is one;
     *     else null
     * @param staged the time after the early and the late step; `NONE` if it is not before the end
     * @param end the end of an interval; `NONE` for a point
     * @param watermark the watermark known before the group
     * @param high the highest time of rows before the group
     */
    public InternalRow judge(
            long group, byte[] part, UTF8String badReason,
            long arrival, long event, long staged, long end, long watermark, long high) {
        Long groupHigh = this.highs.advance(group, part, staged);
        return judge(groupHigh, badReason, arrival, event, staged, end, watermark, high);
    }

    /**
     * Returns the verdict on a row whose group is mixed with others of its run. Arguments after the group's name are
     * those of the other method.
     *
     * @param run the number of the run; a run does not come back once it has changed
     * @param one the first part of the group's name, not null
     * @param other the second part, not null
     */
    public InternalRow judge(
            long run, UTF8String one, UTF8String other, UTF8String badReason,
            long arrival, long event, long staged, long end, long watermark, long high) {
        Long groupHigh = this.highs.advance(run, one, other, staged);
        return judge(groupHigh, badReason, arrival, event, staged, end, watermark, high);
    }

    private InternalRow judge(
            Long groupHigh, UTF8String badReason,
            long arrival, long event, long staged, long end, long knownWatermark, long knownHigh) {
        if (this.row == null) {
            initialize();
        }
        if (badReason != null && !badReason.equals(this.duplicate)) {
            return verdict(null, this.quarantined, reasonsOf(badReason), null);
        }
        long high = groupHigh == null ? knownHigh : Math.max(groupHigh, knownHigh);
        long trailing = high == Nullable.NONE ? Nullable.NONE : Math.max(high - this.disorder, this.minTime);
        long watermark = Math.max(knownWatermark, trailing);
        if (badReason != null) {
            return verdict(null, this.dropped, this.duplicates, Nullable.box(watermark));
        }
        long stamp = staged;
        int steps = 0;
        if (this.policy.isOutOfOrder(staged, watermark)) {
            stamp = this.policy.outOfOrderStamp(watermark);
            steps = OUT_OF_ORDER;
        }
        if (this.policy.isEarly(arrival, event)) {
            steps |= EARLY;
        } else if (this.policy.isLate(arrival, event)) {
            steps |= LATE;
        }
        if (end != Nullable.NONE && (stamp >= end || this.policy.isEmptied(arrival, event, end))) {
            stamp = Nullable.NONE;
            steps |= EMPTY;
        }
        UTF8String fate = stamp == Nullable.NONE ? this.dropped : steps == 0 ? this.onTime : this.adjusted;
        return verdict(Nullable.box(stamp), fate, this.reasons[steps], Nullable.box(watermark));
    }

    private InternalRow verdict(Long stamp, UTF8String fate, ArrayData reasons, Long watermark) {
        this.values[0] = stamp;
        this.values[1] = fate;
        this.values[2] = reasons;
        this.values[3] = watermark;
        return this.row;
    }

    /** Makes the objects that are not sent to tasks. */
    private void initialize() {
        this.values = new Object[4];
        this.row = new GenericInternalRow(this.values);
        this.onTime = UTF8String.fromString("on_time");
        this.adjusted = UTF8String.fromString("adjusted");
        this.dropped = UTF8String.fromString("dropped");
        this.quarantined = UTF8String.fromString("quarantined");
        this.duplicate = UTF8String.fromString("duplicate");
        this.duplicates = array(this.duplicate);
        this.reasons = new ArrayData[2 * EMPTY];
        for (int steps = 0; steps < this.reasons.length; steps++) {
            this.reasons[steps] = array(namesOf(steps));
        }
    }

    /** Returns the names of the steps that act, in the order in which they do. */
    private static Object[] namesOf(int steps) {
        var names = new ArrayList<Object>();
        for (int step = 0; step < STEPS.length; step++) {
            if ((steps & 1 << step) != 0) {
                names.add(UTF8String.fromString(STEPS[step]));
            }
        }
        return names.toArray();
    }

    private static ArrayData reasonsOf(UTF8String badReason) {
        return new GenericArrayData(badReason.split(UTF8String.fromString(","), -1));
    }

    private static ArrayData array(Object... texts) {
        return new GenericArrayData(texts);
    }
}
