package tidemark.digest;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ByteWriterTest {
    private static byte[] written(ByteWriter writer) {
        return Arrays.copyOf(writer.buffer(), writer.size());
    }

    @Test
    @DisplayName("numbers are written with their lowest byte first")
    void numbers() {
        ByteWriter writer = new ByteWriter();
        writer.writeByte(0x1FE);
        writer.writeInt(0x01020304);
        writer.writeLong(-2L);
        assertArrayEquals(new byte[] {-2, 4, 3, 2, 1, -2, -1, -1, -1, -1, -1, -1, -1}, written(writer));
    }

    @Test
    @DisplayName("bytes are written after their number, from an array and from memory outside of the heap")
    void bytes() {
        byte[] expected = {2, 0, 0, 0, 0, 0, 0, 0, 8, 9};
        ByteWriter writer = new ByteWriter();
        writer.writeBytes(new byte[] {8, 9});
        assertArrayEquals(expected, written(writer));
        writer.clear();
        writer.writeBytes(new byte[] {7, 8, 9, 10}, Platform.BYTE_ARRAY_OFFSET + 1, 2);
        assertArrayEquals(expected, written(writer));
        writer.clear();
        long address = Platform.allocateMemory(2);
        Platform.putByte(null, address, (byte) 8);
        Platform.putByte(null, address + 1, (byte) 9);
        writer.writeBytes(null, address, 2);
        Platform.freeMemory(address);
        assertArrayEquals(expected, written(writer));
    }

    @Test
    @DisplayName("growth keeps the bytes before, wherever the buffer is full")
    void growth() {
        for (int before = ByteWriter.INITIAL_CAPACITY - 9; before <= ByteWriter.INITIAL_CAPACITY; before++) {
            ByteWriter writer = new ByteWriter();
            for (int count = 0; count < before; count++) {
                writer.writeByte(count);
            }
            writer.writeLong(-1L);
            writer.writeInt(-1);
            writer.writeByte(-1);
            byte[] expected = new byte[before + 13];
            Arrays.fill(expected, (byte) -1);
            for (int at = 0; at < before; at++) {
                expected[at] = (byte) at;
            }
            assertArrayEquals(expected, written(writer), "after " + before);
        }
    }

    @Test
    @DisplayName("a cleared writer begins anew and keeps no buffer of a large row")
    void cleared() {
        ByteWriter writer = new ByteWriter();
        writer.writeBytes(new byte[ByteWriter.INITIAL_CAPACITY]);
        writer.clear();
        assertEquals(0, writer.size());
        assertEquals(2 * ByteWriter.INITIAL_CAPACITY, writer.buffer().length);
        writer.writeBytes(new byte[ByteWriter.MAX_KEPT]);
        writer.clear();
        assertEquals(ByteWriter.INITIAL_CAPACITY, writer.buffer().length);
    }
}
