package tidemark.storage;

import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URI;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;

/** The tag of an object as the service's own client gives it, from its present status. */
final class ObjectTags {
    private ObjectTags() {
    }

    /**
     * Returns the ETag without quotes; on Google Cloud Storage, whose status has none, the generation, which is asked
     * for.
     *
     * @throws IOException if the file system tells neither
     */
    static String of(FileSystem files, FileStatus status) throws IOException {
        if (status instanceof EtagSource source && source.getEtag() != null) {
            return source.getEtag().replace("\"", "");
        }
        try {
            return String.valueOf(generation(files, status.getPath().toUri()));
        } catch (ReflectiveOperationException strange) {
            throw new IOException("no tag is known of " + status.getPath(), strange);
        }
    }

    /** Asks Google's connector, by its public classes, for the generation of an object. */
    private static Object generation(FileSystem files, URI uri) throws ReflectiveOperationException {
        Method open = files.getClass().getMethod("getGcsFs");
        Method client = open.getReturnType().getMethod("getGcs");
        Class<?> storage = client.getReturnType();
        String name = storage.getPackageName() + ".StorageResourceId";
        Class<?> resource = Class.forName(name, true, storage.getClassLoader());
        Object asked = resource.getMethod("fromUriPath", URI.class, boolean.class).invoke(null, uri, true);
        Method look = storage.getMethod("getItemInfo", resource);
        Object found = look.invoke(client.invoke(open.invoke(files)), asked);
        return look.getReturnType().getMethod("getContentGeneration").invoke(found);
    }
}
