package tidemark.count;

import java.util.ArrayList;
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

    private long rows;
    private long low;
    private long high;
    private final Map objects = new HashMap();
    private final Map partitions = new HashMap();
    private final UnknownNames unknown = new UnknownNames();
    private transient UTF8String lastName;
    private transient PartitionTally last;
    private transient int lastObject;
    private transient long[] lastCounts;

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

    /** A row of a partition, see `PartitionTally.row`. */
    void row(UTF8String name, String kind, int object, long arrival, long event, long stamp, long offset) {
        named(name).row(kind, object, arrival, event, stamp, offset);
    }

    /** The last row was moved by so much. */
    void moved(long size) {
        this.last.moved(size);
    }

    /** The last row, at this offset, breaks rules: one a bit. */
    void broke(int rules, long offset) {
        this.last.broke(rules, offset);
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
            named(UTF8String.fromString((String) entry.getKey())).merge((PartitionTally) entry.getValue());
        }
    }

    /**
     * As lists: [rows, low, high, [[object, rows, whole]], [what `PartitionTally.told` gives], what
     * `UnknownNames.told` gives].
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
            each.add(PartitionTally.headed(entry.getKey(), (long[]) entry.getValue()));
        }
        whole.add(each);
        List named = new ArrayList();
        entries = this.partitions.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            named.add(((PartitionTally) entry.getValue()).told(entry.getKey()));
        }
        whole.add(named);
        whole.add(this.unknown.told());
        return whole;
    }

    private PartitionTally named(UTF8String name) {
        if (this.last == null || !this.lastName.equals(name)) {
            String text = name.toString();
            PartitionTally found = (PartitionTally) this.partitions.get(text);
            if (found == null) {
                found = new PartitionTally();
                this.partitions.put(text, found);
            }
            this.lastName = name.copy();
            this.last = found;
        }
        return this.last;
    }
}
