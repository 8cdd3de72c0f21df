package tidemark.storage;

import java.io.FileNotFoundException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.hadoop.fs.Path;

/** An object of a bucket as it was listed: its size in bytes, its ETag without quotes, and its key. */
record ListedObject(long size, String tag, String key) {
    /**
     * Reads a path `landed://bucket/SIZE-TAG/key`, where the tag is in hexadecimal.
     *
     * @throws FileNotFoundException if the path has no key
     * @throws IllegalArgumentException if size or tag is no number
     */
    static ListedObject parse(Path path) throws FileNotFoundException {
        String[] parts = path.toUri().getPath().substring(1).split("/", 2);
        if (parts.length < 2) {
            throw new FileNotFoundException(path.toString());
        }
        int dash = parts[0].indexOf('-');
        if (dash < 0) {
            throw new IllegalArgumentException(path.toString());
        }
        byte[] tag = HexFormat.of().parseHex(parts[0].substring(dash + 1));
        long size = Long.parseLong(parts[0].substring(0, dash));
        return new ListedObject(size, new String(tag, StandardCharsets.UTF_8), parts[1]);
    }
}
