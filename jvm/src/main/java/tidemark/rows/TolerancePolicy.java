package tidemark.rows;

import java.io.Serializable;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/** The tolerances of a source and the actions on rows beyond them (docs/time-rules.md). */
public final class TolerancePolicy implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final String ADJUST = "adjust";
    private static final String KEEP = "keep";

    private final long early;
    private final long late;
    private final boolean adjustsEarly;
    private final boolean adjustsLate;
    private final boolean adjustsOutOfOrder;
    private final boolean keepsOutOfOrder;

    /**
     * Makes a policy. Actions are those of the Python class `Action`; that of a tolerance that is off is ignored.
     *
     * @param early the tolerance for early rows in microseconds; null if it is off
     * @param late the tolerance for late rows in microseconds; null if it is off
     */
    public TolerancePolicy(
            Number early, String earlyAction, Number late, String lateAction, String outOfOrderAction) {
        this.early = early == null ? Nullable.NONE : early.longValue();
        this.late = late == null ? Nullable.NONE : late.longValue();
        this.adjustsEarly = ADJUST.equals(earlyAction);
        this.adjustsLate = ADJUST.equals(lateAction);
        this.adjustsOutOfOrder = ADJUST.equals(outOfOrderAction);
        this.keepsOutOfOrder = KEEP.equals(outOfOrderAction);
    }

    /**
     * Returns the staged time as a column of arrival and event time, and for intervals of their end, microseconds. It
     * is null if one of them is.
     */
    public static Column function(Seq<Column> arguments, TolerancePolicy policy) {
        return Invoked.plain(policy, "stagedTime", DataTypes.LongType, arguments);
    }

    /** Returns the time after the early and the late step; null if one of them drops the row. */
    public Long stagedTime(long arrival, long event) {
        if (isEarly(arrival, event)) {
            return this.adjustsEarly ? arrival + this.early : null;
        }
        if (isLate(arrival, event)) {
            return this.adjustsLate ? arrival - this.late : null;
        }
        return event;
    }

    /** Returns the time after the early and the late step; null if one of them drops the row or moves it to its end. */
    public Long stagedTime(long arrival, long event, long end) {
        Long staged = stagedTime(arrival, event);
        return staged != null && staged < end ? staged : null;
    }

    /** Returns true if the late step moves a row to its end or past it: the early step moves no start forward. */
    boolean isEmptied(long arrival, long event, long end) {
        return this.adjustsLate && isLate(arrival, event) && arrival - this.late >= end;
    }

    /** Returns true if the event time is later than the tolerance for early rows reaches. */
    boolean isEarly(long arrival, long event) {
        return this.early != Nullable.NONE && event > arrival + this.early;
    }

    /** Returns true if the event time is earlier than the tolerance for late rows reaches. */
    boolean isLate(long arrival, long event) {
        return this.late != Nullable.NONE && event < arrival - this.late;
    }

    /** Returns true if the out-of-order step drops or adjusts a row. Both times may be `NONE`. */
    boolean isOutOfOrder(long staged, long watermark) {
        return !this.keepsOutOfOrder && staged != Nullable.NONE && staged < watermark;
    }

    /** Returns the system timestamp of a row that is out of order; `NONE` if it is dropped. */
    long outOfOrderStamp(long watermark) {
        return this.adjustsOutOfOrder ? watermark : Nullable.NONE;
    }
}
