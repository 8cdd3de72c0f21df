package tidemark.text;

import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/** Names of the members of one JSON object that a schema lacks, as text: one a line, null if there are none. */
public final class MemberNames {
    /** What separates names: no plain name has it, and others are written with `ESCAPED` in its place. */
    public static final String SEPARATOR = "\n";
    private static final String ESCAPED = "\\n";
    private static final int MOST_BYTES = 1 << 16;

    private byte[] names = new byte[64];
    private int length;
    private UTF8String last;
    private byte[] lastNames = new byte[0];

    void clear() {
        this.length = 0;
    }

    /** Adds the name that is in these bytes. Of more than 64 KiB in one object, the first names are kept. */
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
        this.names[needed - 1] = (byte) '\n';
        this.length = needed;
    }

    void add(String name) {
        byte[] bytes = UTF8String.fromString(name.replace(SEPARATOR, ESCAPED)).getBytes();
        add(bytes, 0, bytes.length);
    }

    /** The text of all names since `clear`. Objects of one producer have the same names: their text is made once. */
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
