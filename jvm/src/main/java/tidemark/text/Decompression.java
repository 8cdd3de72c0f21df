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

/** The content of an object that is read whole, without the compression that its name says. */
final class Decompression {
    /** Bytes of content that one task can hold beside the rows that are made of it. */
    static final int MOST = 1 << 30;

    private static final int PIECE = 1 << 16;
    private static CompressionCodecFactory codecs;

    private Decompression() {
    }

    /** The content; null if it has more than `MOST` bytes. Damaged compression is an error, as where lines are read. */
    static byte[] of(byte[] packed, UTF8String path) throws IOException {
        InputStream stream = unpacking(path.toString(), new ByteArrayInputStream(packed));
        if (stream == null) {
            return packed.length > MOST ? null : packed;
        }
        ByteArrayOutputStream content = new ByteArrayOutputStream(Math.max(PIECE, packed.length));
        byte[] piece = new byte[PIECE];
        try {
            for (int size = stream.read(piece); size >= 0; size = stream.read(piece)) {
                if (content.size() + size > MOST) {
                    return null;
                }
                content.write(piece, 0, size);
            }
        } finally {
            stream.close();
        }
        return content.toByteArray();
    }

    /** Null if the name says nothing of compression. Endings are those that Spark's text readers know. */
    private static InputStream unpacking(String path, InputStream packed) throws IOException {
        String name = path.toLowerCase(Locale.ROOT);
        if (name.endsWith(".zst") || name.endsWith(".zstd")) {
            return new ZstdInputStreamNoFinalizer(packed);
        }
        CompressionCodec codec =
            name.endsWith(".gzip") ? codecs().getCodecByName("gzip") : codecs().getCodec(new Path(name));
        return codec == null ? null : codec.createInputStream(packed);
    }

    private static synchronized CompressionCodecFactory codecs() {
        if (codecs == null) {
            codecs = new CompressionCodecFactory(new Configuration());
        }
        return codecs;
    }
}
