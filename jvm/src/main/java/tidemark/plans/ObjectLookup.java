package tidemark.plans;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;

/**
 * A plan parameter: the objects of a batch, which tasks get as a job begins, so that the plan serves later batches.
 * Rows come object by object, so most of them need no look-up. A join would be a job of its own, and hash the path of
 * each row.
 */
public final class ObjectLookup implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final String BY_PATH = "object INT NOT NULL, modified BIGINT NOT NULL, partition STRING";
    private static final String BY_NUMBER = "uri STRING NOT NULL, batch BIGINT NOT NULL";

    private Map<UTF8String, InternalRow> byPath = new HashMap<>();
    private InternalRow[] byNumber = new InternalRow[0];
    private transient UTF8String lastPath;
    private transient InternalRow lastFound;

    /**
     * Sets the objects for jobs that begin later, as a JSON array: the number of the batch, and an array of objects
     * in the order of their numbers. Each object is an array: its URI, its landing time (microseconds since 1970,
     * UTC), the partition in its name or null, and an array of the paths that Spark may give it.
     *
     * @throws IOException if the text is not JSON
     */
    public void set(String json) throws IOException {
        JsonNode batchAndObjects = new ObjectMapper().readTree(json);
        long batch = batchAndObjects.get(0).longValue();
        JsonNode objects = batchAndObjects.get(1);
        byPath = new HashMap<>();
        byNumber = new InternalRow[objects.size()];
        for (int number = 0; number < byNumber.length; number++) {
            JsonNode object = objects.get(number);
            InternalRow row = row(number, object.get(1).longValue(), text(object.get(2)));
            for (JsonNode path : object.get(3)) {
                byPath.put(text(path), row);
            }
            byNumber[number] = row(text(object.get(0)), batch);
        }
    }

    /** Makes a column of the number, landing time and partition of the object at a path. */
    public Column at(Seq<Column> path) {
        return Invoked.inTurn(this, "byPath", DataType.fromDDL(BY_PATH), path);
    }

    /** Makes a column of the URI and batch of the object with a number. */
    public Column named(Seq<Column> number) {
        return Invoked.inTurn(this, "byNumber", DataType.fromDDL(BY_NUMBER), number);
    }

    /**
     * Returns the number, landing time and partition of the object at a path.
     *
     * @throws IllegalStateException if the batch has no such object
     */
    public InternalRow byPath(UTF8String path) {
        if (lastPath == null || !lastPath.equals(path)) {
            InternalRow found = byPath.get(path);
            if (found == null) {
                throw new IllegalStateException("a row of an object that was not planned: " + path);
            }
            lastPath = path.copy();
            lastFound = found;
        }
        return lastFound;
    }

    /** Returns the URI and batch of the object with a number. */
    public InternalRow byNumber(int number) {
        return byNumber[number];
    }

    private static InternalRow row(Object... values) {
        return new GenericInternalRow(values);
    }

    private static UTF8String text(JsonNode text) {
        return UTF8String.fromString(text.textValue());
    }
}
