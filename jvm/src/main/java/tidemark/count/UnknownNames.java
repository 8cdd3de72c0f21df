package tidemark.count;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.unsafe.types.UTF8String;
import tidemark.text.MemberNames;

/**
 * Counts rows by the names of their members that the schema lacks. Only the first names in the order of their bytes
 * are kept, so that memory is bounded, and counts are exact and equal however rows are spread over tasks.
 */
final class UnknownNames implements Serializable {
    private static final long serialVersionUID = 1L;

    /** The number of names that are kept. */
    static final int LIMIT = 20;
    private static final int PENDING_LIMIT = 64;

    private long rows;
    private int firstObject = Integer.MAX_VALUE;
    private int lastObject = -1;
    private boolean hasMore;
    private final TreeMap<UTF8String, long[]> rowsByName = new TreeMap<>();
    /** Rows by the text of all their names. Many rows have equal texts, which are split only now and then. */
    private final Map<UTF8String, long[]> pending = new HashMap<>();

    /** Counts a row of an object by its names, as `MemberNames` writes them. */
    void add(UTF8String names, int object) {
        rows++;
        firstObject = Math.min(firstObject, object);
        lastObject = Math.max(lastObject, object);
        long[] count = pending.get(names);
        if (count == null) {
            if (pending.size() >= PENDING_LIMIT) {
                splitPending();
            }
            count = new long[1];
            pending.put(names.copy(), count);
        }
        count[0]++;
    }

    /** Adds the counts of other rows. */
    void merge(UnknownNames other) {
        other.splitPending();
        rows += other.rows;
        firstObject = Math.min(firstObject, other.firstObject);
        lastObject = Math.max(lastObject, other.lastObject);
        hasMore |= other.hasMore;
        other.rowsByName.forEach((name, count) -> addRows(name, count[0]));
    }

    /**
     * Returns the counts as lists and numbers, for JSON: [rows, first object, last object, [[name, rows]], true if
     * there are more names]; null without rows.
     */
    List<Object> toList() {
        if (rows == 0) {
            return null;
        }
        splitPending();
        List<List<Object>> counts = new ArrayList<>();
        rowsByName.forEach((name, count) -> counts.add(List.of(name.toString(), count[0])));
        return List.of(rows, firstObject, lastObject, counts, hasMore);
    }

    private void splitPending() {
        pending.forEach((names, count) -> {
            Set<String> distinct = new HashSet<>(Arrays.asList(names.toString().split(MemberNames.SEPARATOR, -1)));
            for (String name : distinct) {
                addRows(UTF8String.fromString(name), count[0]);
            }
        });
        pending.clear();
    }

    private void addRows(UTF8String name, long count) {
        rowsByName.computeIfAbsent(name, absent -> new long[1])[0] += count;
        if (rowsByName.size() > LIMIT) {
            rowsByName.pollLastEntry();
            hasMore = true;
        }
    }
}
