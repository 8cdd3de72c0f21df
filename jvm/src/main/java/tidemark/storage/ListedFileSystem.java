package tidemark.storage;

import java.io.IOException;
import java.net.URI;
import java.util.Set;
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
 * A file system over s3:// whose paths say what a listing said: landed://bucket/SIZE-TAG/key. Spark and s3a would
 * otherwise ask the service for it, five requests an object. An object that has another tag by now is not read: that
 * fails.
 */
public final class ListedFileSystem extends FilterFileSystem {
    private static final String S3A_STATUS = "org.apache.hadoop.fs.s3a.S3AFileStatus";
    private URI uri;

    @Override
    public void initialize(URI name, Configuration settings) throws IOException {
        uri = URI.create(name.getScheme() + "://" + name.getAuthority());
        fs = new Path("s3://" + name.getAuthority() + "/").getFileSystem(settings);
        super.initialize(name, settings);
    }

    @Override
    public String getScheme() {
        return "landed";
    }

    @Override
    public URI getUri() {
        return uri;
    }

    @Override
    public Path makeQualified(Path path) {
        return path.makeQualified(uri, new Path("/"));
    }

    /** Accepts every path: the file system below checks the path that it gets. */
    @Override
    protected void checkPath(Path path) {
    }

    /** Returns the status of an object, without a request and without a time of change. */
    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        ListedObject object = ListedObject.parse(path);
        return new FileStatus(object.size(), false, 1, fs.getDefaultBlockSize(onS3(object)), 0, path);
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        return new FileStatus[] {getFileStatus(path)};
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        OpenFileParameters parameters = new OpenFileParameters()
            .withOptions(new Configuration(false)).withMandatoryKeys(Set.of()).withBufferSize(bufferSize);
        return FutureIO.awaitFuture(openFileWithOptions(path, parameters));
    }

    @Override
    public FutureDataInputStreamBuilder openFile(Path path) {
        return createDataInputStreamBuilder(this, path);
    }

    @Override
    protected CompletableFuture<FSDataInputStream> openFileWithOptions(Path path, OpenFileParameters parameters)
            throws IOException {
        ListedObject object = ListedObject.parse(path);
        return super.openFileWithOptions(onS3(object), parameters.withStatus(s3aStatus(object)));
    }

    /**
     * Returns the status that s3a holds an object to. It is of a class of its own; s3a asks for it if it has none.
     */
    private FileStatus s3aStatus(ListedObject object) throws IOException {
        Path path = onS3(object);
        try {
            return (FileStatus) getConf().getClassByName(S3A_STATUS)
                .getConstructor(
                    long.class, long.class, Path.class, long.class, String.class, String.class, String.class)
                .newInstance(
                    object.size(), 0L, path, fs.getDefaultBlockSize(path), "", "\"" + object.tag() + "\"", null);
        } catch (ReflectiveOperationException strange) {
            throw new IOException("this Hadoop knows no " + S3A_STATUS, strange);
        }
    }

    private Path onS3(ListedObject object) {
        return new Path("s3", uri.getAuthority(), "/" + object.key());
    }
}
