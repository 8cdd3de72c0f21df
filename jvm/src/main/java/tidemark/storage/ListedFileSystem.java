package tidemark.storage;

import java.io.FileNotFoundException;
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
 * A file system over object storage whose paths say what a listing said: landed://bucket/SIZE-TAG/key for S3,
 * landed+abfss:// and landed+gs:// for Azure and Google. An object that has another tag by now is not read: that fails.
 * Spark and s3a would otherwise ask S3 for size and tag, five requests an object; the others are asked once.
 */
public final class ListedFileSystem extends FilterFileSystem {
    private static final String S3A_STATUS = "org.apache.hadoop.fs.s3a.S3AFileStatus";
    private static final String S3 = "s3";
    private URI uri;
    private String scheme;

    @Override
    public void initialize(URI name, Configuration settings) throws IOException {
        int plus = name.getScheme().indexOf('+');
        scheme = plus < 0 ? S3 : name.getScheme().substring(plus + 1);
        uri = URI.create(name.getScheme() + "://" + name.getAuthority());
        fs = new Path(scheme, name.getAuthority(), "/").getFileSystem(settings);
        super.initialize(name, settings);
    }

    @Override
    public String getScheme() {
        return uri == null ? "landed" : uri.getScheme();
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
        return new FileStatus(object.size(), false, 1, fs.getDefaultBlockSize(inStore(object)), 0, path);
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
        FileStatus status = scheme.equals(S3) ? s3aStatus(object) : presentStatus(object);
        return super.openFileWithOptions(inStore(object), parameters.withStatus(status));
    }

    /** Returns the object's present status, to which its file system holds it; fails if it is no longer as listed. */
    private FileStatus presentStatus(ListedObject object) throws IOException {
        FileStatus status = fs.getFileStatus(inStore(object));
        if (status.getLen() != object.size() || !ObjectTags.of(fs, status).equals(object.tag())) {
            throw new FileNotFoundException(status.getPath() + " has changed since it was listed");
        }
        return status;
    }

    /**
     * Returns the status that s3a holds an object to. It is of a class of its own; s3a asks for it if it has none.
     */
    private FileStatus s3aStatus(ListedObject object) throws IOException {
        Path path = inStore(object);
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

    private Path inStore(ListedObject object) {
        return new Path(scheme, uri.getAuthority(), "/" + object.key());
    }
}
