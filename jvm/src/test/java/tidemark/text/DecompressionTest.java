package tidemark.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.github.luben.zstd.Zstd;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class DecompressionTest {
    private static final byte[] CONTENT = "{}\n".repeat(50_000).getBytes();

    private static byte[] decompress(byte[] stored, String path) throws IOException {
        return Decompression.decompress(stored, UTF8String.fromString(path));
    }

    private static byte[] gzip() throws IOException {
        var stored = new ByteArrayOutputStream();
        try (var stream = new GZIPOutputStream(stored)) {
            stream.write(CONTENT);
        }
        return stored.toByteArray();
    }

    @Test
    @DisplayName("the end of an object's name says how it is compressed, in any case of letters")
    void byName() throws IOException {
        for (String name : new String[] {"a.gz", "a.json.GZ", "a.gzip"}) {
            assertArrayEquals(CONTENT, decompress(gzip(), "file:/x/" + name), name);
        }
        assertArrayEquals(CONTENT, decompress(Zstd.compress(CONTENT), "a.zst"));
        assertArrayEquals(CONTENT, decompress(Zstd.compress(CONTENT), "a.ZSTD"));
        assertArrayEquals(gzip(), decompress(gzip(), "a.json"));
    }

    @Test
    @DisplayName("damaged compression is an error")
    void damaged() throws IOException {
        byte[] stored = gzip();
        assertThrows(IOException.class, () -> decompress(Arrays.copyOf(stored, stored.length / 2), "a.gz"));
        assertThrows(IOException.class, () -> decompress(CONTENT, "a.gz"));
    }
}
