package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static tidemark.rows.Nullable.NONE;

import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class PrecedingMaximumTest {
    private static byte[] bytes(String text) {
        return text.getBytes();
    }

    @Test
    @DisplayName("the maximum is that of the rows before, and rows without a value change nothing")
    void values() {
        var maximum = new PrecedingMaximum();
        assertNull(maximum.advance(1, null, NONE));
        assertNull(maximum.advance(1, null, -5));
        assertEquals(-5L, maximum.advance(1, null, 7));
        assertEquals(7L, maximum.advance(1, null, 3));
        assertEquals(7L, maximum.advance(1, null, NONE));
        assertEquals(7L, maximum.advance(1, null, 3));
    }

    @Test
    @DisplayName("a group begins with another number or another part, even the numbers 0 and parts of null")
    void numberedGroups() {
        var maximum = new PrecedingMaximum();
        assertNull(maximum.advance(0, null, 1));
        assertNull(maximum.advance(0, bytes("a"), 2));
        assertEquals(2L, maximum.advance(0, bytes("a"), 3));
        assertNull(maximum.advance(0, bytes("b"), 4));
        assertNull(maximum.advance(1, bytes("b"), 5));
        assertEquals(5L, maximum.advance(1, bytes("b"), 6));
    }

    @Test
    @DisplayName("groups may be named by bytes, of which equal ones name one group")
    void groupsOfBytes() {
        var maximum = new PrecedingMaximum();
        assertNull(maximum.advance((byte[]) null, null, 1));
        assertEquals(1L, maximum.advance((byte[]) null, null, 2));
        assertNull(maximum.advance(bytes("a"), null, 3));
        assertEquals(3L, maximum.advance(bytes("a"), null, 4));
        assertNull(maximum.advance(bytes("a"), bytes("b"), 5));
        assertEquals(5L, maximum.advance(bytes("a"), bytes("b"), 6));
    }

    @Test
    @DisplayName("groups mixed within a run keep their maxima until the run ends")
    void mixedGroups() {
        var maximum = new PrecedingMaximum();
        UTF8String p = UTF8String.fromString("p");
        UTF8String q = UTF8String.fromString("q");
        assertNull(maximum.advance(0, p, p, 1));
        assertNull(maximum.advance(0, p, q, 2));
        assertNull(maximum.advance(0, q, q, NONE));
        assertEquals(1L, maximum.advance(0, p, p, 8));
        assertEquals(8L, maximum.advance(0, p, p, 3));
        assertEquals(2L, maximum.advance(0, p, q, 9));
        assertNull(maximum.advance(0, q, q, 4));
        assertNull(maximum.advance(1, q, q, 5));
        assertNull(maximum.advance(1, p, p, 6));
        assertEquals(5L, maximum.advance(1, q, q, 7));
    }

    @Test
    @DisplayName("texts whose memory is used again for the next row still name their group")
    void reusedMemory() {
        var maximum = new PrecedingMaximum();
        byte[] memory = bytes("a");
        UTF8String text = UTF8String.fromBytes(memory);
        assertNull(maximum.advance(0, text, text, 1));
        memory[0] = 'b';
        assertNull(maximum.advance(0, text, text, 2));
        memory[0] = 'a';
        assertEquals(1L, maximum.advance(0, text, text, 3));
    }
}
