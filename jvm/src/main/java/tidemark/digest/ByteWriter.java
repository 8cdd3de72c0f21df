package tidemark.digest;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;

/** Bytes that are written one after the other; numbers with their lowest byte first. */
final class ByteWriter {
    /** So many are kept for the next row: one large row does not hold memory for ever. */
    private static final int KEPT = 1 << 20;
    private static final int FIRST = 1 << 10;

    byte[] written = new byte[FIRST];
    int size;

    void clear() {
        this.size = 0;
        if (this.written.length > KEPT) {
            this.written = new byte[FIRST];
        }
    }

    void putByte(int value) {
        room(1);
        this.written[this.size++] = (byte) value;
    }

    void putInt(int value) {
        room(4);
        Platform.putInt(this.written, Platform.BYTE_ARRAY_OFFSET + this.size, value);
        this.size += 4;
    }

    void putLong(long value) {
        room(8);
        Platform.putLong(this.written, Platform.BYTE_ARRAY_OFFSET + this.size, value);
        this.size += 8;
    }

    /** How many bytes, and these. */
    void putBytes(Object base, long offset, int length) {
        putLong(length);
        room(length);
        if (base instanceof byte[]) {
            System.arraycopy(base, (int) (offset - Platform.BYTE_ARRAY_OFFSET), this.written, this.size, length);
        } else {
            Platform.copyMemory(base, offset, this.written, Platform.BYTE_ARRAY_OFFSET + this.size, length);
        }
        this.size += length;
    }

    void putBytes(byte[] bytes) {
        putBytes(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
    }

    private void room(int more) {
        long needed = (long) this.size + more;
        if (needed <= this.written.length) {
            return;
        }
        if (needed > Integer.MAX_VALUE - 8) {
            throw new IllegalStateException("a row of more than 2 GiB has no digest");
        }
        long wanted = Math.min(Math.max(needed, 2L * this.written.length), Integer.MAX_VALUE - 8);
        this.written = Arrays.copyOf(this.written, (int) wanted);
    }
}
