package tidemark.text;

import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.spark.unsafe.types.UTF8String;

/** Decompresses an object that is read whole, if its name ends as that of a compressed file. */
final class Decompression {
    /** Most bytes of content, which one task holds beside the rows that are made from them. */
    static final int MOST_BYTES = 1 << 30;

    private static final int BUFFER_BYTES = 1 << 16;
    private static CompressionCodecFactory codecs;

    private Decompression() {
    }

    /**
     * Returns the content of the object at a path, or null if it has more than `MOST_BYTES`. Throws IOException if
     * the compression is damaged, as where lines are read.
     */
    static byte[] decompress(byte[] stored, UTF8String path) throws IOException {
        InputStream stream = open(path.toString(), new ByteArrayInputStream(stored));
        if (stream == null) {
            return stored.length > MOST_BYTES ? null : stored;
        }
        try (stream) {
            var content = new ByteArrayOutputStream(Math.max(BUFFER_BYTES, stored.length));
            byte[] buffer = new byte[BUFFER_BYTES];
            for (int size = stream.read(buffer); size >= 0; size = stream.read(buffer)) {
                if (content.size() + size > MOST_BYTES) {
                    return null;
                }
                content.write(buffer, 0, size);
            }
            return content.toByteArray();
        }
    }

    /** Returns null if the name has no ending of a compression that Spark's text readers know. */
    private static InputStream open(String path, InputStream stored) throws IOException {
        String name = path.toLowerCase(Locale.ROOT);
        if (name.endsWith(".zst") || name.endsWith(".zstd")) {
            return new ZstdInputStreamNoFinalizer(stored);
        }
        CompressionCodec codec =
            name.endsWith(".gzip") ? codecs().getCodecByName("gzip") : codecs().getCodec(new Path(name));
        return codec == null ? null : codec.createInputStream(stored);
    }

    private static synchronized CompressionCodecFactory codecs() {
        if (codecs == null) {
            codecs = new CompressionCodecFactory(new Configuration());
        }
        return codecs;
    }
}
