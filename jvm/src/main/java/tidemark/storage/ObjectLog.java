package tidemark.storage;

import io.delta.storage.S3SingleDriverLogStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Delta's log on S3, where a commit is one conditional PUT: of two writers one fails, even in different processes.
 * Delta's own looks first and writes then, which is safe within one process only.
 */
public final class ObjectLog extends S3SingleDriverLogStore {
    private static final String IF_ABSENT = "fs.option.create.conditional.overwrite";

    /** Makes the log with Hadoop's settings, as Delta does by reflection. */
    public ObjectLog(Configuration settings) {
        super(settings);
    }

    /**
     * Writes a commit of these lines.
     *
     * @throws FileAlreadyExistsException if the commit is there and must not be overwritten
     */
    @Override
    public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration settings)
            throws IOException {
        if (overwrite) {
            super.write(path, actions, overwrite, settings);
            return;
        }
        FileSystem files = path.getFileSystem(settings);
        if (files.exists(path)) {
            throw new FileAlreadyExistsException(path.toString());
        }
        StringBuilder lines = new StringBuilder();
        while (actions.hasNext()) {
            lines.append(actions.next()).append("\n");
        }
        FSDataOutputStreamBuilder<?, ?> builder = files.createFile(path);
        builder.overwrite(true).recursive().must(IF_ABSENT, true);
        try {
            FSDataOutputStream stream = builder.build();
            stream.write(lines.toString().getBytes(StandardCharsets.UTF_8));
            stream.close(); // only after all is written: closing uploads what there is
        } catch (IOException failed) {
            if (failed.getClass().getSimpleName().equals("RemoteFileChangedException")) {
                throw new FileAlreadyExistsException(path.toString());
            }
            throw failed;
        }
    }
}
