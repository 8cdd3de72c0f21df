package tidemark.storage;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HexFormat;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.impl.OpenFileParameters;
import org.apache.hadoop.util.functional.FutureIO;

/**
 * Objects of s3:// as they were listed: landed://bucket/SIZE-TAG/key, the tag in hexadecimal. The path says what Spark
 * and s3a would ask the service for, five requests an object, and what is read has that tag or fails.
 */
public final class Landed extends FilterFileSystem {
    private static final String STATUS = "org.apache.hadoop.fs.s3a.S3AFileStatus";
    private URI here;

    public void initialize(URI name, Configuration settings) throws IOException {
        here = URI.create(name.getScheme() + "://" + name.getAuthority());
        fs = new Path("s3://" + name.getAuthority() + "/").getFileSystem(settings);
        super.initialize(name, settings);
    }

    public String getScheme() {
        return "landed";
    }

    public URI getUri() {
        return here;
    }

    public Path makeQualified(Path path) {
        return path.makeQualified(here, new Path("/"));
    }

    protected void checkPath(Path path) {
    }

    public FileStatus getFileStatus(Path path) throws IOException {
        Path real = real(path);
        return new FileStatus(size(path), false, 1, fs.getDefaultBlockSize(real), 0, path);
    }

    public FileStatus[] listStatus(Path path) throws IOException {
        return new FileStatus[] {getFileStatus(path)};
    }

    public FSDataInputStream open(Path path, int buffer) throws IOException {
        OpenFileParameters given = new OpenFileParameters();
        given.withOptions(new Configuration(false)).withMandatoryKeys(Collections.EMPTY_SET).withBufferSize(buffer);
        return (FSDataInputStream) FutureIO.awaitFuture(openFileWithOptions(path, given));
    }

    public FutureDataInputStreamBuilder openFile(Path path) {
        return createDataInputStreamBuilder(this, path);
    }

    protected CompletableFuture openFileWithOptions(Path path, OpenFileParameters given) throws IOException {
        Path real = real(path);
        return super.openFileWithOptions(real, given.withStatus(listed(path, real)));
    }

    /** What s3a holds an object to: its own kind of status, which it asks for unless it is given. */
    private FileStatus listed(Path path, Path real) throws IOException {
        String tag = new String(HexFormat.of().parseHex(parts(path)[0].split("-")[1]), StandardCharsets.UTF_8);
        try {
            Class kind = getConf().getClassByName(STATUS);
            Class[] types = {long.class, long.class, Path.class, long.class, String.class, String.class, String.class};
            Constructor made = kind.getConstructor(types);
            Object[] values = {
                Long.valueOf(size(path)), Long.valueOf(0), real, Long.valueOf(fs.getDefaultBlockSize(real)), "",
                "\"" + tag + "\"", null};
            return (FileStatus) made.newInstance(values);
        } catch (ReflectiveOperationException strange) {
            throw new IOException("this Hadoop knows no " + STATUS, strange);
        }
    }

    private long size(Path path) throws IOException {
        return Long.parseLong(parts(path)[0].split("-")[0]);
    }

    private Path real(Path path) throws IOException {
        return new Path("s3", here.getAuthority(), "/" + parts(path)[1]);
    }

    /** What was listed, and the key. */
    private static String[] parts(Path path) throws IOException {
        String[] found = path.toUri().getPath().substring(1).split("/", 2);
        if (found.length < 2) {
            throw new FileNotFoundException(path.toString());
        }
        return found;
    }
}
