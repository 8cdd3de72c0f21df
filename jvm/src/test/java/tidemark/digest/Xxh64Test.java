package tidemark.digest;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The values are those of the reference implementation (xxHash 0.8, `xxhsum -H1`, and its seed 0). */
class Xxh64Test {
    private static long[] hashes(String text, long one, long other) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        long[] seeds = {one, other};
        Xxh64.hash(bytes, bytes.length, seeds);
        return seeds;
    }

    @Test
    @DisplayName("hashes of no bytes and of short and long texts are the published ones")
    void published() {
        assertEquals(0xEF46DB3751D8E999L, hashes("", 0, 0)[0]);
        assertEquals(0xD24EC4F1A98C6E5BL, hashes("a", 0, 0)[0]);
        assertEquals(0x44BC2CF5AD770999L, hashes("abc", 0, 0)[0]);
        assertEquals(0xFBCEA83C8A378BF1L, hashes("Nobody inspects the spammish repetition", 0, 0)[0]);
    }

    @Test
    @DisplayName("two seeds at a time give the hashes that each gives alone, for every length up to three stripes")
    void pairs() {
        for (int length = 0; length <= 96; length++) {
            String text = "x".repeat(length);
            long[] both = hashes(text, 7, -9);
            long[] alone = {hashes(text, 7, 7)[0], hashes(text, -9, -9)[1]};
            assertArrayEquals(alone, both, "length " + length);
        }
    }
}
