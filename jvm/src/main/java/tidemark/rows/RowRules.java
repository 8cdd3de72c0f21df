package tidemark.rows;

/**
 * What holds for each row of the events table, whatever judged it: the rules that a row breaks, one a bit. The bits
 * are those of the Python side's `RowRule`.
 */
public final class RowRules implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final int EVENT_TIME = 1;
    private static final int MOVED = 1 << 1;
    private static final int JUDGED = 1 << 2;
    private static final int WITHIN = 1 << 3;
    private static final int NOT_BEHIND = 1 << 4;

    private final long early;
    private final long late;
    private final boolean kept;

    /** Tolerances are in microseconds, at most 2^61; `kept`: rows behind the watermark may stay there. */
    public RowRules(long early, long late, boolean kept) {
        this.early = early;
        this.late = late;
        this.kept = kept;
    }

    /**
     * The rules that a row breaks. `kind` is null of a row on time, else fate and reasons with commas between; times
     * are `RunningState.NONE` where unknown. One that `ends` a lifetime has the start of that for its system timestamp, and
     * such a row, like one that `tells` of progress alone, may be behind.
     */
    public int broken(
            String kind, boolean adjusted, long arrival, long event, long stamp, long watermark,
            boolean ends, boolean tells) {
        boolean stamped = stamp != RunningState.NONE;
        int found = (kind == null || adjusted) == stamped ? 0 : JUDGED;
        if (kind == null && !ends && stamp != event) {
            found |= EVENT_TIME;
        }
        if (adjusted && stamp == event && kind.indexOf(',') == kind.lastIndexOf(',')) {
            found |= MOVED;
        }
        if (!stamped) {
            return found;
        }
        if (arrival != RunningState.NONE && outside(stamp, arrival, watermark)) {
            found |= WITHIN;
        }
        if (!this.kept && !ends && !tells && stamp < watermark) {
            found |= NOT_BEHIND;
        }
        return found;
    }

    /** Outside the tolerances around arrival, and not at a watermark that is later than they reach. */
    private boolean outside(long stamp, long arrival, long watermark) {
        return stamp < arrival - this.late || (stamp > arrival + this.early && watermark != stamp);
    }
}
