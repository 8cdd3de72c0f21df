package tidemark.count;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.unsafe.types.UTF8String;
import tidemark.text.MemberNames;

/**
 * Counts rows by the names of their members that the schema lacks. The first names in the order of their bytes are
 * kept, so that counts are exact and alike however rows are spread over tasks, and memory is bounded.
 */
final class UnknownNames implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    /** Most names that are kept. */
    private static final int MOST = 20;
    private static final int MOST_PENDING = 64;

    private long rows;
    private int firstObject = Integer.MAX_VALUE;
    private int lastObject = -1;
    private boolean more;
    private final TreeMap names = new TreeMap();
    private final Map pending = new HashMap();

    /** A row of an object has these names, as `MemberNames` writes them. */
    void add(UTF8String text, int object) {
        this.rows++;
        this.firstObject = Math.min(this.firstObject, object);
        this.lastObject = Math.max(this.lastObject, object);
        long[] count = (long[]) this.pending.get(text);
        if (count == null) {
            if (this.pending.size() >= MOST_PENDING) {
                settle();
            }
            count = new long[1];
            this.pending.put(text.copy(), count);
        }
        count[0]++;
    }

    void merge(UnknownNames other) {
        other.settle();
        this.rows += other.rows;
        this.firstObject = Math.min(this.firstObject, other.firstObject);
        this.lastObject = Math.max(this.lastObject, other.lastObject);
        this.more |= other.more;
        Iterator entries = other.names.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            count((UTF8String) entry.getKey(), ((long[]) entry.getValue())[0]);
        }
    }

    /** As a list: [rows, first object, last object, [[name, rows]], whether there are more names]; null without rows. */
    List told() {
        if (this.rows == 0) {
            return null;
        }
        settle();
        List counts = new ArrayList();
        Iterator entries = this.names.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            counts.add(Arrays.asList(new Object[] {entry.getKey().toString(), Long.valueOf(((long[]) entry.getValue())[0])}));
        }
        return Arrays.asList(new Object[] {
            Long.valueOf(this.rows), Integer.valueOf(this.firstObject), Integer.valueOf(this.lastObject), counts,
            Boolean.valueOf(this.more)});
    }

    private void settle() {
        Iterator entries = this.pending.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            String[] each = entry.getKey().toString().split(MemberNames.SEPARATOR, -1);
            Iterator distinct = new HashSet(Arrays.asList(each)).iterator();
            while (distinct.hasNext()) {
                count(UTF8String.fromString((String) distinct.next()), ((long[]) entry.getValue())[0]);
            }
        }
        this.pending.clear();
    }

    private void count(UTF8String name, long count) {
        long[] found = (long[]) this.names.get(name);
        if (found == null) {
            found = new long[1];
            this.names.put(name, found);
        }
        found[0] += count;
        if (this.names.size() > MOST) {
            this.names.pollLastEntry();
            this.more = true;
        }
    }
}
