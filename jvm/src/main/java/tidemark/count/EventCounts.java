package tidemark.count;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Counts of event rows: by partition and kind of row, by object, the names that the schema lacks, and both sums of
 * hashes from which a digest is made. Counts of two sets of rows add up to those of all the rows, in any order.
 */
public final class EventCounts implements Serializable {
    private static final long serialVersionUID = 1L;

    private long rows;
    private long lowSum;
    private long highSum;
    private final Map<Integer, ObjectCounts> objects = new HashMap<>();
    private final Map<String, PartitionCounts> partitions = new HashMap<>();
    private final UnknownNames unknown = new UnknownNames();
    /** The partition and the object of the last row: most rows have those of the row before. */
    private transient UTF8String lastPartition;
    private transient PartitionCounts lastPartitionCounts;
    private transient int lastObject;
    private transient ObjectCounts lastObjectCounts;

    /** Rows of an object, and how many of them mean that the whole object cannot be read. */
    private static final class ObjectCounts implements Serializable {
        private static final long serialVersionUID = 1L;

        private long rows;
        private long whole;
    }

    /** Returns true if no row was counted. */
    boolean isEmpty() {
        return rows == 0;
    }

    /** Counts one row, and adds its hash to both sums (modulo 2^64). */
    void addHash(long high, long low) {
        rows++;
        highSum += high;
        lowSum += low;
    }

    /** Counts a row of an object. `whole`: it means that the whole object cannot be read. */
    void addToObject(int object, boolean whole) {
        if (lastObjectCounts == null || object != lastObject) {
            lastObjectCounts = countsOf(object);
            lastObject = object;
        }
        lastObjectCounts.rows++;
        lastObjectCounts.whole += whole ? 1 : 0;
    }

    /** Counts a row of an object by the names of its members that the schema lacks, see `MemberNames`. */
    void addUnknown(UTF8String names, int object) {
        unknown.add(names, object);
    }

    /** Counts a row of a partition, see `PartitionCounts.addRow`. */
    void addRow(UTF8String partition, String kind, int object, long arrival, long event, long stamp, long offset) {
        countsOf(partition).addRow(kind, object, arrival, event, stamp, offset);
    }

    /** Counts that the last row was moved, by so many microseconds. */
    void addMove(long size) {
        lastPartitionCounts.addMove(size);
    }

    /** Counts the rules, one a bit, that the last row breaks, which is at this offset. */
    void addBroken(int rules, long offset) {
        lastPartitionCounts.addBroken(rules, offset);
    }

    /** Adds the counts of other rows, which are left as they are. */
    void merge(EventCounts other) {
        rows += other.rows;
        lowSum += other.lowSum;
        highSum += other.highSum;
        unknown.merge(other.unknown);
        other.objects.forEach((object, theirs) -> {
            ObjectCounts ours = countsOf(object);
            ours.rows += theirs.rows;
            ours.whole += theirs.whole;
        });
        other.partitions.forEach((partition, theirs) -> countsOf(UTF8String.fromString(partition)).merge(theirs));
    }

    /**
     * Returns the counts as lists and numbers, for JSON: [rows, low sum, high sum, [[object, rows, whole]],
     * [see `PartitionCounts.toList`], see `UnknownNames.toList`].
     */
    List<Object> toList() {
        List<List<Object>> ofObjects = new ArrayList<>();
        objects.forEach((object, counts) -> ofObjects.add(List.of(object, counts.rows, counts.whole)));
        List<List<Object>> ofPartitions = new ArrayList<>();
        partitions.forEach((partition, counts) -> ofPartitions.add(counts.toList(partition)));
        return Arrays.asList(rows, lowSum, highSum, ofObjects, ofPartitions, unknown.toList());
    }

    private ObjectCounts countsOf(int object) {
        return objects.computeIfAbsent(object, absent -> new ObjectCounts());
    }

    private PartitionCounts countsOf(UTF8String partition) {
        if (lastPartitionCounts == null || !lastPartition.equals(partition)) {
            lastPartitionCounts = partitions.computeIfAbsent(partition.toString(), absent -> new PartitionCounts());
            lastPartition = partition.copy();
        }
        return lastPartitionCounts;
    }
}
