package tidemark.digest;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;

/** A buffer to which a row's bytes are appended. Numbers are written with their lowest byte first. */
final class ByteWriter {
    /** The largest buffer, in bytes, that is kept for the next row: a large row must not hold memory for ever. */
    static final int MAX_KEPT = 1 << 20;
    static final int INITIAL_CAPACITY = 1 << 10;
    private static final int MAX_CAPACITY = Integer.MAX_VALUE - 8;

    private byte[] buffer = new byte[INITIAL_CAPACITY];
    private int size;

    /** Returns the buffer itself, of which the first `size()` bytes are written. Growth replaces it. */
    byte[] buffer() {
        return this.buffer;
    }

    /** Returns the number of bytes written since `clear()`. */
    int size() {
        return this.size;
    }

    /** Removes all bytes. */
    void clear() {
        this.size = 0;
        if (this.buffer.length > MAX_KEPT) {
            this.buffer = new byte[INITIAL_CAPACITY];
        }
    }

    /** Appends the lowest byte of the number. */
    void writeByte(int value) {
        reserve(1);
        this.buffer[this.size++] = (byte) value;
    }

    /** Appends 4 bytes. */
    void writeInt(int value) {
        reserve(4);
        Platform.putInt(this.buffer, Platform.BYTE_ARRAY_OFFSET + this.size, value);
        this.size += 4;
    }

    /** Appends 8 bytes. */
    void writeLong(long value) {
        reserve(8);
        Platform.putLong(this.buffer, Platform.BYTE_ARRAY_OFFSET + this.size, value);
        this.size += 8;
    }

    /**
     * Appends the number of bytes, in 8 bytes, and then the bytes.
     *
     * @param base the array that has the bytes; null if they are outside of the heap
     * @param offset where the bytes begin, as Spark's `Platform` counts
     */
    void writeBytes(Object base, long offset, int length) {
        writeLong(length);
        reserve(length);
        if (base instanceof byte[] bytes) {
            System.arraycopy(bytes, (int) (offset - Platform.BYTE_ARRAY_OFFSET), this.buffer, this.size, length);
        } else {
            Platform.copyMemory(base, offset, this.buffer, Platform.BYTE_ARRAY_OFFSET + this.size, length);
        }
        this.size += length;
    }

    /** Appends the length of the array, in 8 bytes, and then its bytes. */
    void writeBytes(byte[] bytes) {
        writeBytes(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
    }

    private void reserve(int more) {
        long needed = (long) this.size + more;
        if (needed <= this.buffer.length) {
            return;
        }
        if (needed > MAX_CAPACITY) {
            throw new IllegalStateException("a row of more than 2 GiB has no digest");
        }
        long capacity = Math.min(Math.max(needed, 2L * this.buffer.length), MAX_CAPACITY);
        this.buffer = Arrays.copyOf(this.buffer, (int) capacity);
    }
}
