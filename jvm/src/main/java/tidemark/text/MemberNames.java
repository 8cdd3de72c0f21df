package tidemark.text;

import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Collects the names of members of one JSON object that a schema lacks, as text with one name a line. At most 64 KiB
 * are kept.
 */
public final class MemberNames {
    /** Separator of names. A line feed within a name is written as a backslash and n. */
    public static final String SEPARATOR = "\n";
    private static final String ESCAPED = "\\n";
    private static final int MOST_BYTES = 1 << 16;

    private byte[] names = new byte[64];
    private int length;
    private UTF8String last;
    private byte[] lastNames = new byte[0];

    /** Removes all names: another object begins. */
    void clear() {
        this.length = 0;
    }

    /**
     * Adds a name as UTF-8, without line feeds. One beyond 64 KiB is left out; alone, it is written as three dots.
     */
    void add(byte[] bytes, int from, int to) {
        int needed = this.length + to - from + 1;
        if (needed > MOST_BYTES) {
            if (this.length == 0) {
                add("...");
            }
            return;
        }
        if (needed > this.names.length) {
            this.names = Arrays.copyOf(this.names, 2 * needed);
        }
        System.arraycopy(bytes, from, this.names, this.length, to - from);
        this.names[needed - 1] = '\n';
        this.length = needed;
    }

    /** Adds a name, as the method for bytes does. */
    void add(String name) {
        byte[] bytes = UTF8String.fromString(name.replace(SEPARATOR, ESCAPED)).getBytes();
        add(bytes, 0, bytes.length);
    }

    /** Returns the text of all names since `clear`, or null without names. An equal text is made once. */
    UTF8String text() {
        if (this.length == 0) {
            return null;
        }
        if (!Arrays.equals(this.names, 0, this.length, this.lastNames, 0, this.lastNames.length)) {
            this.lastNames = Arrays.copyOf(this.names, this.length);
            this.last = UTF8String.fromBytes(this.lastNames, 0, this.length - 1);
        }
        return this.last;
    }
}
