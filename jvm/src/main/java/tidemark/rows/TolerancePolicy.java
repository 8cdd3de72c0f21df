package tidemark.rows;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/** The tolerances of a source, microseconds, and what happens beyond them (time rules: judging a row). */
public final class TolerancePolicy implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final String ADJUST = "adjust";
    private static final String KEEP = "keep";

    private final long early;
    private final long late;
    private final boolean adjustsEarly;
    private final boolean adjustsLate;
    private final boolean adjusts;
    private final boolean keeps;

    /** A tolerance that is off is null. Actions are those of the Python side's `Action`, that of one that is off any. */
    public TolerancePolicy(Object early, String beyondEarly, Object late, String beyondLate, String outOfOrder) {
        this.early = early == null ? RunningState.NONE : ((Number) early).longValue();
        this.late = late == null ? RunningState.NONE : ((Number) late).longValue();
        this.adjustsEarly = ADJUST.equals(beyondEarly);
        this.adjustsLate = ADJUST.equals(beyondLate);
        this.adjusts = ADJUST.equals(outOfOrder);
        this.keeps = KEEP.equals(outOfOrder);
    }

    /** As a column of arrival and event time: the time that the early and late steps leave a row, null if one of them
     * drops it. */
    public static Column function(Seq arguments, TolerancePolicy policy) {
        return Invoked.plain(policy, "staged", DataTypes.LongType, arguments);
    }

    public Long staged(long arrival, long event) {
        if (isEarly(arrival, event)) {
            return this.adjustsEarly ? Long.valueOf(arrival + this.early) : null;
        }
        if (isLate(arrival, event)) {
            return this.adjustsLate ? Long.valueOf(arrival - this.late) : null;
        }
        return Long.valueOf(event);
    }

    boolean isEarly(long arrival, long event) {
        return this.early != RunningState.NONE && event > arrival + this.early;
    }

    boolean isLate(long arrival, long event) {
        return this.late != RunningState.NONE && event < arrival - this.late;
    }

    /** Whether the step for rows out of order acts; `NONE`: there is no such time. */
    boolean isBehind(long staged, long watermark) {
        return !this.keeps && staged != RunningState.NONE && staged < watermark;
    }

    /** What that step leaves a row behind the watermark, or `NONE`. */
    long moved(long watermark) {
        return this.adjusts ? watermark : RunningState.NONE;
    }
}
