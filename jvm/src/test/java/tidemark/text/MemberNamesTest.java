package tidemark.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class MemberNamesTest {
    private final MemberNames names = new MemberNames();

    @Test
    @DisplayName("names are written one a line, and a line feed within one is escaped")
    void lines() {
        assertNull(this.names.text());
        this.names.add("a.b");
        this.names.add("c\nd");
        this.names.add(new byte[] {'x', 'y', 'z'}, 1, 2);
        assertEquals("a.b\nc\\nd\ny", this.names.text().toString());
        this.names.clear();
        assertNull(this.names.text());
    }

    @Test
    @DisplayName("names of the object before do not change its text, and equal names share it")
    void sharing() {
        this.names.add("a");
        UTF8String first = this.names.text();
        this.names.clear();
        this.names.add("b");
        assertEquals("b", this.names.text().toString());
        assertEquals("a", first.toString());
        UTF8String second = this.names.text();
        this.names.clear();
        this.names.add("b");
        assertSame(second, this.names.text());
    }

    @Test
    @DisplayName("at most 64 KiB of names are kept, and dots for a single longer one")
    void bounds() {
        this.names.add("a".repeat((1 << 16) - 1));
        this.names.add("b");
        assertEquals((1 << 16) - 1, this.names.text().numBytes());
        this.names.clear();
        this.names.add("a".repeat(1 << 16));
        assertEquals("...", this.names.text().toString());
    }
}
