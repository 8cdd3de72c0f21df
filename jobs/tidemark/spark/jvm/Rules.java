package tidemark;

/**
 * What holds for each row of the events table, whatever judged it: the rules that a row breaks, one a bit. The bits
 * are those of the Python side's `RowRule`.
 */
public final class Rules implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final int EVENT_TIME = 1;
    private static final int MOVED = 1 << 1;
    private static final int JUDGED = 1 << 2;
    private static final int WITHIN = 1 << 3;
    private static final int NOT_BEHIND = 1 << 4;

    private final String moved;
    private final long early;
    private final long late;
    private final boolean kept;

    /** Kinds that begin with `moved` are of adjusted rows; tolerances are in microseconds, at most 2^61; `kept`: rows
     * behind the watermark may stay there. */
    public Rules(String moved, long early, long late, boolean kept) {
        this.moved = moved;
        this.early = early;
        this.late = late;
        this.kept = kept;
    }

    /**
     * The rules that a row breaks. `kind` is null of a row on time, else fate and reasons with commas between; times
     * are null where unknown. One that `ends` a lifetime has the start of that for its system timestamp, and such a
     * row, like one that `tells` of progress alone, may be behind.
     */
    int broken(String kind, Long arrival, Long event, Long stamp, Long watermark, boolean ends, boolean tells) {
        boolean adjusted = kind != null && kind.startsWith(this.moved);
        int found = (kind == null || adjusted) == (stamp == null) ? JUDGED : 0;
        boolean same = stamp == null ? event == null : stamp.equals(event);
        if (kind == null && !ends && !same) {
            found |= EVENT_TIME;
        }
        if (adjusted && same && kind.indexOf(',') == kind.lastIndexOf(',')) {
            found |= MOVED;
        }
        if (stamp == null) {
            return found;
        }
        if (arrival != null && outside(stamp.longValue(), arrival.longValue(), watermark)) {
            found |= WITHIN;
        }
        if (!this.kept && !ends && !tells && watermark != null && stamp.longValue() < watermark.longValue()) {
            found |= NOT_BEHIND;
        }
        return found;
    }

    /** Outside the tolerances around arrival, and not at a watermark that is later than they reach. */
    private boolean outside(long stamp, long arrival, Long watermark) {
        if (stamp < arrival - this.late) {
            return true;
        }
        return stamp > arrival + this.early && (watermark == null || watermark.longValue() != stamp);
    }
}
