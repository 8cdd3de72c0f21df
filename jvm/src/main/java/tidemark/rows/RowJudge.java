package tidemark.rows;

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
 * What becomes of each row of sorted groups: its system timestamp, fate, reasons and the watermark before it. That is
 * the later of what is known before the group's rows and of what their greatest time so far leaves.
 *
 * Arguments: what names the group, in two or three parts as `PrecedingMaximum` has it; why the row is quarantined or null; its arrival,
 * event time, and the time that the early and late steps leave it; the watermark known before the group and the
 * greatest time of rows before it. Times are `RunningState.NONE` where they would be null.
 */
public final class RowJudge implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final String GIVES =
        "stamp TIMESTAMP, fate STRING NOT NULL, reasons ARRAY<STRING> NOT NULL, watermark TIMESTAMP";
    private static final int BEHIND = 1;
    private static final int EARLY = 2;
    private static final int LATE = 4;

    private final PrecedingMaximum highs = new PrecedingMaximum();
    private final TolerancePolicy policy;
    private final long disorder;
    private final long least;
    private transient Object[] told;
    private transient InternalRow row;
    private transient ArrayData[] reasons;
    private transient UTF8String onTime;
    private transient UTF8String adjusted;
    private transient UTF8String dropped;
    private transient UTF8String quarantined;

    private RowJudge(TolerancePolicy policy, long disorder, long least) {
        this.policy = policy;
        this.disorder = disorder;
        this.least = least;
    }

    /** As a column; the watermark is `disorder` microseconds behind the greatest time, and at the `least` a time. */
    public static Column function(Seq arguments, TolerancePolicy policy, long disorder, long least) {
        return Invoked.inTurn(new RowJudge(policy, disorder, least), "call", DataType.fromDDL(GIVES), arguments);
    }

    /** What is told is good until the next row's. */
    public InternalRow call(
            long group, byte[] part, UTF8String bad,
            long arrival, long event, long staged, long before, long high) {
        return told(this.highs.call(group, part, staged), bad, arrival, event, staged, before, high);
    }

    public InternalRow call(
            long run, UTF8String one, UTF8String other, UTF8String bad,
            long arrival, long event, long staged, long before, long high) {
        return told(this.highs.call(run, one, other, staged), bad, arrival, event, staged, before, high);
    }

    private InternalRow told(
            Long reached, UTF8String bad, long arrival, long event, long staged, long before, long high) {
        if (this.row == null) {
            begin();
        }
        if (bad != null) {
            return told(null, this.quarantined, new GenericArrayData(new Object[] {bad.copy()}), null);
        }
        long highest = reached == null ? high : Math.max(reached.longValue(), high);
        long left = highest == RunningState.NONE ? RunningState.NONE : Math.max(highest - this.disorder, this.least);
        long watermark = Math.max(before, left);
        boolean behind = this.policy.isBehind(staged, watermark);
        long stamp = behind ? this.policy.moved(watermark) : staged;
        int acted = behind ? BEHIND : 0;
        if (this.policy.isEarly(arrival, event)) {
            acted |= EARLY;
        } else if (this.policy.isLate(arrival, event)) {
            acted |= LATE;
        }
        UTF8String fate = stamp == RunningState.NONE ? this.dropped : acted == 0 ? this.onTime : this.adjusted;
        return told(RunningState.known(stamp), fate, this.reasons[acted], RunningState.known(watermark));
    }

    private InternalRow told(Long stamp, UTF8String fate, ArrayData reasons, Long watermark) {
        this.told[0] = stamp;
        this.told[1] = fate;
        this.told[2] = reasons;
        this.told[3] = watermark;
        return this.row;
    }

    private void begin() {
        this.told = new Object[4];
        this.row = new GenericInternalRow(this.told);
        this.onTime = UTF8String.fromString("on_time");
        this.adjusted = UTF8String.fromString("adjusted");
        this.dropped = UTF8String.fromString("dropped");
        this.quarantined = UTF8String.fromString("quarantined");
        UTF8String early = UTF8String.fromString("early");
        UTF8String late = UTF8String.fromString("late");
        UTF8String behind = UTF8String.fromString("out_of_order");
        this.reasons = new ArrayData[EARLY + LATE + BEHIND];
        this.reasons[0] = new GenericArrayData(new Object[0]);
        this.reasons[BEHIND] = new GenericArrayData(new Object[] {behind});
        this.reasons[EARLY] = new GenericArrayData(new Object[] {early});
        this.reasons[EARLY + BEHIND] = new GenericArrayData(new Object[] {early, behind});
        this.reasons[LATE] = new GenericArrayData(new Object[] {late});
        this.reasons[LATE + BEHIND] = new GenericArrayData(new Object[] {late, behind});
    }
}
