package tidemark.count;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import tidemark.rows.Nullable;

/**
 * Counts of one partition's rows: by kind of row, by the size of moves, by broken rule, and of all offsets the
 * lowest, the highest, the sum and the sum of squares (both modulo 2^64), which show gaps and duplicates.
 */
final class PartitionCounts implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final long NONE = Nullable.NONE;
    /** Sizes of moves are kept to three significant digits, so that there are few of them. */
    private static final int DIGITS_END = 1000;

    private final Map<String, KindCounts> kinds = new HashMap<>();
    private transient KindCounts onTime;
    /** Rows by the size of their move, see `rounded`. */
    private final Map<Integer, long[]> moves = new HashMap<>();
    private final Map<Integer, BrokenRule> broken = new HashMap<>();
    private long largestMove = NONE;
    private long lowestOffset = Long.MAX_VALUE;
    private long highestOffset = NONE;
    private long offsetSum;
    private long squareSum;

    /** Rows of one kind: their number, extremes of times, and the row with the lowest offset. */
    private static final class KindCounts implements Serializable {
        private static final long serialVersionUID = 1L;

        private long rows;
        private long firstArrival = NONE;
        private long lastArrival = NONE;
        private long highestStamp = NONE;
        private long offset = NONE;
        private long event = NONE;
        private long arrival = NONE;
        private long object = NONE;

        void merge(KindCounts other) {
            boolean isFirst = rows == 0;
            rows += other.rows;
            firstArrival = earlier(firstArrival, other.firstArrival);
            lastArrival = Math.max(lastArrival, other.lastArrival);
            highestStamp = Math.max(highestStamp, other.highestStamp);
            if (isFirst || other.offset < offset) {
                offset = other.offset;
                event = other.event;
                arrival = other.arrival;
                object = other.object;
            }
        }

        List<Object> toList(String kind) {
            return Arrays.asList(
                kind, rows, orNull(firstArrival), orNull(lastArrival), orNull(highestStamp), orNull(offset),
                orNull(event), orNull(arrival), orNull(object));
        }
    }

    /** Rows that break a rule: their number, and the lowest of their offsets, ascending. */
    private static final class BrokenRule implements Serializable {
        private static final long serialVersionUID = 1L;

        private static final int EXAMPLES = 5;
        private static final long FREE = Long.MAX_VALUE;

        private long rows;
        private final long[] offsets = new long[EXAMPLES];

        BrokenRule() {
            Arrays.fill(offsets, FREE);
        }

        void add(long offset) {
            rows++;
            keepIfLow(offset);
        }

        void merge(BrokenRule other) {
            rows += other.rows;
            for (long offset : other.offsets) {
                keepIfLow(offset);
            }
        }

        private void keepIfLow(long offset) {
            int place = EXAMPLES - 1;
            if (offset == NONE || offset >= offsets[place]) {
                return;
            }
            for (; place > 0 && offset < offsets[place - 1]; place--) {
                offsets[place] = offsets[place - 1];
            }
            offsets[place] = offset;
        }

        List<Object> toList(int rule) {
            List<Object> list = new ArrayList<>(List.of(rule, rows));
            for (long offset : offsets) {
                list.add(offset == FREE ? null : offset);
            }
            return list;
        }
    }

    /**
     * Counts a row. Times are microseconds since 1970 (UTC), `NONE` where unknown.
     *
     * @param kind fate and reasons; null for a row on time
     */
    void addRow(String kind, int object, long arrival, long event, long stamp, long offset) {
        KindCounts counts = countsOf(kind);
        lowestOffset = Math.min(lowestOffset, offset);
        highestOffset = Math.max(highestOffset, offset);
        offsetSum += offset;
        squareSum += offset * offset;
        counts.rows++;
        counts.firstArrival = earlier(counts.firstArrival, arrival);
        counts.lastArrival = Math.max(counts.lastArrival, arrival);
        counts.highestStamp = Math.max(counts.highestStamp, stamp);
        if (counts.offset == NONE || offset < counts.offset) {
            counts.offset = offset;
            counts.event = event;
            counts.arrival = arrival;
            counts.object = object;
        }
    }

    /** Counts that a row was moved, by so many microseconds. */
    void addMove(long size) {
        largestMove = Math.max(largestMove, size);
        addMoves(rounded(size), 1);
    }

    /** Counts the rules, one a bit, that the row at this offset breaks. */
    void addBroken(int rules, long offset) {
        for (int left = rules; left != 0; left &= left - 1) {
            brokenRule(Integer.numberOfTrailingZeros(left)).add(offset);
        }
    }

    /** Adds the counts of other rows of this partition, which are left as they are. */
    void merge(PartitionCounts other) {
        largestMove = Math.max(largestMove, other.largestMove);
        lowestOffset = Math.min(lowestOffset, other.lowestOffset);
        highestOffset = Math.max(highestOffset, other.highestOffset);
        offsetSum += other.offsetSum;
        squareSum += other.squareSum;
        other.moves.forEach((rounded, rows) -> addMoves(rounded, rows[0]));
        other.broken.forEach((rule, theirs) -> brokenRule(rule).merge(theirs));
        other.kinds.forEach((kind, theirs) -> countsOf(kind).merge(theirs));
    }

    /**
     * Returns the counts as lists and numbers, for JSON: [partition, largest move, [[size of move, rows]], [[kind,
     * rows, first arrival, last arrival, highest stamp, then of the row with the lowest offset: offset, event,
     * arrival, object]], [lowest offset, highest offset, sum, sum of squares], [[rule, rows, offset, ...]]]. None is
     * null.
     */
    List<Object> toList(String partition) {
        List<List<Object>> ofMoves = new ArrayList<>();
        moves.forEach((rounded, rows) -> ofMoves.add(List.of(sizeOf(rounded), rows[0])));
        List<List<Object>> ofKinds = new ArrayList<>();
        kinds.forEach((kind, counts) -> ofKinds.add(counts.toList(kind)));
        List<Object> offsets =
            Arrays.asList(orNull(lowestOffset), orNull(highestOffset), orNull(offsetSum), orNull(squareSum));
        List<List<Object>> ofRules = new ArrayList<>();
        broken.forEach((rule, rows) -> ofRules.add(rows.toList(rule)));
        return Arrays.asList(partition, orNull(largestMove), ofMoves, ofKinds, offsets, ofRules);
    }

    private KindCounts countsOf(String kind) {
        if (kind == null && onTime != null) {
            return onTime;
        }
        KindCounts found = kinds.get(kind);
        if (found == null) {
            found = new KindCounts();
            kinds.put(kind, found);
        }
        if (kind == null) {
            onTime = found;
        }
        return found;
    }

    private void addMoves(int rounded, long rows) {
        long[] found = moves.get(rounded);
        if (found == null) {
            moves.put(rounded, new long[] {rows});
        } else {
            found[0] += rows;
        }
    }

    private BrokenRule brokenRule(int rule) {
        BrokenRule found = broken.get(rule);
        if (found == null) {
            found = new BrokenRule();
            broken.put(rule, found);
        }
        return found;
    }

    /**
     * Returns a size as a small number: the zeros after its first three digits, times 1000, plus these digits. Sizes
     * as they are would be round numbers, which share few slots of a hash map.
     */
    static int rounded(long size) {
        long digits = size;
        int zeros = 0;
        while (digits >= DIGITS_END) {
            digits /= 10;
            zeros++;
        }
        return zeros * DIGITS_END + (int) digits;
    }

    /** Returns the size that `rounded` made a small number of, to three digits. */
    static long sizeOf(int rounded) {
        long size = rounded % DIGITS_END;
        for (int zeros = rounded / DIGITS_END; zeros > 0; zeros--) {
            size *= 10;
        }
        return size;
    }

    private static Long orNull(long value) {
        return value == NONE ? null : value;
    }

    private static long earlier(long one, long other) {
        return one == NONE || (other != NONE && other < one) ? other : one;
    }
}
