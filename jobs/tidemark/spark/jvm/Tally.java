package tidemark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Counts of rows with their fates: per partition and kind of row, per object, and of all rows the two sums of
 * which a digest is made, and the names that the schema lacks. Two of them add up to that of all their rows, in any
 * order.
 */
public final class Tally implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    /** What is kept of one kind of row, in this order; the last three are those of the row with the lowest offset. */
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

    private long rows;
    private long low;
    private long high;
    private final Map objects = new HashMap();
    private final Map partitions = new HashMap();
    private final UnknownNames unknown = new UnknownNames();
    private transient UTF8String lastName;
    private transient Partition last;
    private transient int lastObject;
    private transient long[] lastCounts;

    /**
     * One partition: its kinds of row, how often a row was moved by how much, the rules that rows break, and of all
     * offsets the first, the last, the sum and the sum of squares (both modulo 2^64): what tells gaps and doubles.
     */
    private static final class Partition implements java.io.Serializable {
        private static final long serialVersionUID = 1L;

        private final Map kinds = new HashMap();
        private transient long[] onTime;
        private final Map moves = new HashMap();
        private final Map broken = new HashMap();
        private long largest = NONE;
        private long first = Long.MAX_VALUE;
        private long end = NONE;
        private long sum;
        private long squares;
    }

    boolean isEmpty() {
        return this.rows == 0;
    }

    /** One row's part of both sums of the digest. */
    void digest(long addedHigh, long addedLow) {
        this.rows++;
        this.high += addedHigh;
        this.low += addedLow;
    }

    void object(int object, boolean whole) {
        if (this.lastCounts == null || object != this.lastObject) {
            Integer number = Integer.valueOf(object);
            this.lastCounts = (long[]) this.objects.get(number);
            if (this.lastCounts == null) {
                this.lastCounts = new long[2];
                this.objects.put(number, this.lastCounts);
            }
            this.lastObject = object;
        }
        this.lastCounts[0]++;
        this.lastCounts[1] += whole ? 1 : 0;
    }

    /** A row of an object has members that the schema lacks, see `MemberNames`. */
    void unknown(UTF8String names, int object) {
        this.unknown.add(names, object);
    }

    /** A row of a kind (what fate and reasons come to, null of a row on time), with its object's number and its times,
     * `NONE` where unknown. */
    void row(UTF8String name, String kind, int object, long arrival, long event, long stamp, long offset) {
        Partition partition = named(name);
        boolean known = kind == null && partition.onTime != null;
        long[] found = known ? partition.onTime : (long[]) partition.kinds.get(kind);
        if (found == null) {
            found = new long[FIELDS];
            Arrays.fill(found, NONE);
            found[ROWS] = 0;
            partition.kinds.put(kind, found);
        }
        partition.onTime = kind == null ? found : partition.onTime;
        partition.first = Math.min(partition.first, offset);
        partition.end = Math.max(partition.end, offset);
        partition.sum += offset;
        partition.squares += offset * offset;
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

    /** The last row was moved by so much; kept to three significant digits, so that few sizes are held. */
    void moved(long size) {
        long digits = size;
        int zeros = 0;
        while (digits >= DIGITS) {
            digits /= 10;
            zeros++;
        }
        this.last.largest = Math.max(this.last.largest, size);
        add(this.last.moves, Integer.valueOf(zeros * DIGITS + (int) digits), 1);
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

    /** The last row, at this offset, breaks rules: one a bit. */
    void broke(int rules, long offset) {
        for (int left = rules; left != 0; left &= left - 1) {
            Integer rule = Integer.valueOf(Integer.numberOfTrailingZeros(left));
            long[] one = examples();
            one[0] = 1;
            one[1] = offset;
            breaks(this.last.broken, rule, one);
        }
    }

    void merge(Tally other) {
        this.rows += other.rows;
        this.low += other.low;
        this.high += other.high;
        this.unknown.merge(other.unknown);
        Iterator entries = other.objects.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            long[] theirs = (long[]) entry.getValue();
            long[] ours = (long[]) this.objects.get(entry.getKey());
            if (ours == null) {
                this.objects.put(entry.getKey(), theirs.clone());
            } else {
                ours[0] += theirs[0];
                ours[1] += theirs[1];
            }
        }
        entries = other.partitions.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            merge(named(UTF8String.fromString((String) entry.getKey())), (Partition) entry.getValue());
        }
    }

    private static void merge(Partition ours, Partition theirs) {
        ours.largest = Math.max(ours.largest, theirs.largest);
        ours.first = Math.min(ours.first, theirs.first);
        ours.end = Math.max(ours.end, theirs.end);
        ours.sum += theirs.sum;
        ours.squares += theirs.squares;
        Iterator entries = theirs.moves.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            add(ours.moves, entry.getKey(), ((long[]) entry.getValue())[0]);
        }
        entries = theirs.broken.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            breaks(ours.broken, entry.getKey(), (long[]) entry.getValue());
        }
        entries = theirs.kinds.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            long[] their = (long[]) entry.getValue();
            long[] our = (long[]) ours.kinds.get(entry.getKey());
            if (our == null) {
                ours.kinds.put(entry.getKey(), their.clone());
                continue;
            }
            our[ROWS] += their[ROWS];
            our[FIRST_ARRIVAL] = least(our[FIRST_ARRIVAL], their[FIRST_ARRIVAL]);
            our[LAST_ARRIVAL] = Math.max(our[LAST_ARRIVAL], their[LAST_ARRIVAL]);
            our[HIGH] = Math.max(our[HIGH], their[HIGH]);
            if (their[OFFSET] < our[OFFSET]) {
                System.arraycopy(their, OFFSET, our, OFFSET, FIELDS - OFFSET);
            }
        }
    }

    /**
     * As lists: [rows, low, high, [[object, rows, whole]], [[partition, largest, [[size, times]], [[kind, ...]],
     * [first, last, sum, squares], [[rule, rows, offset, ...]]]], unknown names].
     */
    List told() {
        List whole = new ArrayList();
        whole.add(Long.valueOf(this.rows));
        whole.add(Long.valueOf(this.low));
        whole.add(Long.valueOf(this.high));
        List each = new ArrayList();
        Iterator entries = this.objects.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            each.add(headed(entry.getKey(), (long[]) entry.getValue()));
        }
        whole.add(each);
        List named = new ArrayList();
        entries = this.partitions.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            Partition partition = (Partition) entry.getValue();
            List one = new ArrayList();
            one.add(entry.getKey());
            one.addAll(list(new long[] {partition.largest}));
            one.add(rowsOf(sizes(partition.moves)));
            one.add(rowsOf(partition.kinds));
            one.add(list(new long[] {partition.first, partition.end, partition.sum, partition.squares}));
            one.add(rowsOf(partition.broken));
            named.add(one);
        }
        whole.add(named);
        whole.add(this.unknown.told());
        return whole;
    }

    private Partition named(UTF8String name) {
        if (this.last == null || !this.lastName.equals(name)) {
            String text = name.toString();
            Partition found = (Partition) this.partitions.get(text);
            if (found == null) {
                found = new Partition();
                this.partitions.put(text, found);
            }
            this.lastName = name.copy();
            this.last = found;
        }
        return this.last;
    }

    private static void add(Map counts, Object key, long times) {
        long[] found = (long[]) counts.get(key);
        if (found == null) {
            counts.put(key, new long[] {times});
        } else {
            found[0] += times;
        }
    }

    private static long[] examples() {
        long[] none = new long[1 + EXAMPLES];
        Arrays.fill(none, NONE);
        return none;
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

    private static List headed(Object key, long[] values) {
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
