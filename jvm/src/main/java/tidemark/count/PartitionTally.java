package tidemark.count;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import tidemark.rows.Running;

/**
 * Counts of one partition's rows: its kinds of row, how often a row was moved by how much, the rules that rows break,
 * and of all offsets the first, the last, the sum and the sum of squares (both modulo 2^64), which show gaps and doubles.
 */
final class PartitionTally implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    /** What is kept of one kind of row, in this order; the last four are those of the row with the lowest offset. */
    private static final int ROWS = 0;
    private static final int FIRST_ARRIVAL = 1;
    private static final int LAST_ARRIVAL = 2;
    private static final int HIGH = 3;
    private static final int OFFSET = 4;
    private static final int EVENT = 5;
    private static final int ARRIVAL = 6;
    private static final int OBJECT = 7;
    private static final int FIELDS = 8;
    /** So many of the lowest offsets at which a rule is broken are kept, after how often it is. */
    private static final int EXAMPLES = 5;
    private static final long NONE = Running.NONE;
    /** Sizes of moves are kept to three digits. */
    private static final int DIGITS = 1000;

    private final Map kinds = new HashMap();
    private transient long[] onTime;
    private final Map moves = new HashMap();
    private final Map broken = new HashMap();
    private long largest = NONE;
    private long first = Long.MAX_VALUE;
    private long end = NONE;
    private long sum;
    private long squares;

    /** A row of a kind: its fate and reasons, null for a row on time. Times are `NONE` where unknown. */
    void row(String kind, int object, long arrival, long event, long stamp, long offset) {
        boolean known = kind == null && this.onTime != null;
        long[] found = known ? this.onTime : (long[]) this.kinds.get(kind);
        if (found == null) {
            found = new long[FIELDS];
            Arrays.fill(found, NONE);
            found[ROWS] = 0;
            this.kinds.put(kind, found);
        }
        this.onTime = kind == null ? found : this.onTime;
        this.first = Math.min(this.first, offset);
        this.end = Math.max(this.end, offset);
        this.sum += offset;
        this.squares += offset * offset;
        found[ROWS]++;
        found[FIRST_ARRIVAL] = least(found[FIRST_ARRIVAL], arrival);
        found[LAST_ARRIVAL] = Math.max(found[LAST_ARRIVAL], arrival);
        found[HIGH] = Math.max(found[HIGH], stamp);
        if (found[OFFSET] == NONE || offset < found[OFFSET]) {
            found[OFFSET] = offset;
            found[EVENT] = event;
            found[ARRIVAL] = arrival;
            found[OBJECT] = object;
        }
    }

    /** A row was moved by so much; kept to three significant digits, so that few sizes are held. */
    void moved(long size) {
        long digits = size;
        int zeros = 0;
        while (digits >= DIGITS) {
            digits /= 10;
            zeros++;
        }
        this.largest = Math.max(this.largest, size);
        add(this.moves, Integer.valueOf(zeros * DIGITS + (int) digits), 1);
    }

    /** The row at this offset breaks rules: one a bit. */
    void broke(int rules, long offset) {
        for (int left = rules; left != 0; left &= left - 1) {
            Integer rule = Integer.valueOf(Integer.numberOfTrailingZeros(left));
            long[] one = new long[1 + EXAMPLES];
            Arrays.fill(one, NONE);
            one[0] = 1;
            one[1] = offset;
            breaks(this.broken, rule, one);
        }
    }

    void merge(PartitionTally other) {
        this.largest = Math.max(this.largest, other.largest);
        this.first = Math.min(this.first, other.first);
        this.end = Math.max(this.end, other.end);
        this.sum += other.sum;
        this.squares += other.squares;
        Iterator entries = other.moves.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            add(this.moves, entry.getKey(), ((long[]) entry.getValue())[0]);
        }
        entries = other.broken.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            breaks(this.broken, entry.getKey(), (long[]) entry.getValue());
        }
        entries = other.kinds.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            mergeKind(entry.getKey(), (long[]) entry.getValue());
        }
    }

    private void mergeKind(Object kind, long[] their) {
        long[] our = (long[]) this.kinds.get(kind);
        if (our == null) {
            this.kinds.put(kind, their.clone());
            return;
        }
        our[ROWS] += their[ROWS];
        our[FIRST_ARRIVAL] = least(our[FIRST_ARRIVAL], their[FIRST_ARRIVAL]);
        our[LAST_ARRIVAL] = Math.max(our[LAST_ARRIVAL], their[LAST_ARRIVAL]);
        our[HIGH] = Math.max(our[HIGH], their[HIGH]);
        if (their[OFFSET] < our[OFFSET]) {
            System.arraycopy(their, OFFSET, our, OFFSET, FIELDS - OFFSET);
        }
    }

    /** As a list: [name, largest, [[size, times]], [[kind, ...]], [first, last, sum, squares], [[rule, rows, offset, ...]]]. */
    List told(Object name) {
        List one = new ArrayList();
        one.add(name);
        one.addAll(list(new long[] {this.largest}));
        one.add(rowsOf(sizes(this.moves)));
        one.add(rowsOf(this.kinds));
        one.add(list(new long[] {this.first, this.end, this.sum, this.squares}));
        one.add(rowsOf(this.broken));
        return one;
    }

    /** Sizes as they are, of keys that are small numbers: those of round numbers would share few slots of a map. */
    private static Map sizes(Map moves) {
        Map found = new HashMap();
        Iterator entries = moves.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            int key = ((Integer) entry.getKey()).intValue();
            long size = key % DIGITS;
            for (int zeros = key / DIGITS; zeros > 0; zeros--) {
                size *= 10;
            }
            found.put(Long.valueOf(size), entry.getValue());
        }
        return found;
    }

    private static void add(Map counts, Object key, long times) {
        long[] found = (long[]) counts.get(key);
        if (found == null) {
            counts.put(key, new long[] {times});
        } else {
            found[0] += times;
        }
    }

    /** Adds how often a rule is broken, and keeps the lowest offsets. */
    private static void breaks(Map rules, Object rule, long[] more) {
        long[] found = (long[]) rules.get(rule);
        if (found == null) {
            rules.put(rule, more.clone());
            return;
        }
        long[] offsets = new long[2 * EXAMPLES];
        for (int index = 0; index < offsets.length; index++) {
            long one = index < EXAMPLES ? found[1 + index] : more[1 + index - EXAMPLES];
            offsets[index] = one == NONE ? Long.MAX_VALUE : one;
        }
        Arrays.sort(offsets);
        found[0] += more[0];
        for (int index = 0; index < EXAMPLES; index++) {
            found[1 + index] = offsets[index] == Long.MAX_VALUE ? NONE : offsets[index];
        }
    }

    private static List rowsOf(Map counts) {
        List rows = new ArrayList();
        Iterator entries = counts.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            rows.add(headed(entry.getKey(), (long[]) entry.getValue()));
        }
        return rows;
    }

    static List headed(Object key, long[] values) {
        List row = new ArrayList();
        row.add(key);
        row.addAll(list(values));
        return row;
    }

    private static List list(long[] values) {
        List found = new ArrayList();
        for (int index = 0; index < values.length; index++) {
            found.add(values[index] == NONE ? null : Long.valueOf(values[index]));
        }
        return found;
    }

    private static long least(long one, long other) {
        return one == NONE || (other != NONE && other < one) ? other : one;
    }
}
