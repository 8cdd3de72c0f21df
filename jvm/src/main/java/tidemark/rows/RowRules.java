package tidemark.rows;

import java.io.Serializable;

/**
 * Rules that each row of the events table keeps, independent of the code that judged it. The bits of broken rules are
 * those of the Python class `RowRule`.
 *
 * @param early the tolerance for early rows, microseconds, at most 2^61
 * @param late the tolerance for late rows, microseconds, at most 2^61
 * @param keepsOutOfOrder true if rows may be behind the watermark
 */
public record RowRules(long early, long late, boolean keepsOutOfOrder) implements Serializable {
    static final int EVENT_TIME = 1;
    static final int MOVED = 1 << 1;
    static final int JUDGED = 1 << 2;
    static final int WITHIN = 1 << 3;
    static final int NOT_BEHIND = 1 << 4;

    /**
     * Returns the rules that a row breaks, one a bit. Times are microseconds since 1970 (UTC), `NONE` if unknown.
     *
     * @param kind fate and reasons with commas between; null for a row on time
     * @param adjusted true if the fate is that of adjusted rows
     * @param stamp the system timestamp
     * @param watermark the watermark before the row
     * @param endsLifetime true if the row ends a lifetime: its system timestamp is the start of the lifetime, and it
     *     may be behind the watermark
     * @param progressOnly true if the row reports progress alone: it may be behind the watermark
     */
    public int broken(
            String kind, boolean adjusted, long arrival, long event, long stamp, long watermark,
            boolean endsLifetime, boolean progressOnly) {
        boolean stamped = stamp != Nullable.NONE;
        int broken = (kind == null || adjusted) == stamped ? 0 : JUDGED;
        if (kind == null && !endsLifetime && stamp != event) {
            broken |= EVENT_TIME;
        }
        if (adjusted && stamp == event && hasOneReason(kind)) {
            broken |= MOVED;
        }
        if (!stamped) {
            return broken;
        }
        if (arrival != Nullable.NONE && isOutside(stamp, arrival, watermark)) {
            broken |= WITHIN;
        }
        if (!this.keepsOutOfOrder && !endsLifetime && !progressOnly && stamp < watermark) {
            broken |= NOT_BEHIND;
        }
        return broken;
    }

    /** Returns true for one reason or none: a second one can have moved the row back to its event time. */
    private static boolean hasOneReason(String kind) {
        return kind.indexOf(',') == kind.lastIndexOf(',');
    }

    /** Returns true outside of the tolerances around the arrival, unless the row was moved to a later watermark. */
    private boolean isOutside(long stamp, long arrival, long watermark) {
        return stamp < arrival - this.late || (stamp > arrival + this.early && watermark != stamp);
    }
}
