package tidemark.plans;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;

/** A plan parameter: the tasks of partitions that are not assigned by the hash of their names. */
public final class PlanTasks implements Serializable {
    private static final long serialVersionUID = 1L;

    private Map<UTF8String, Integer> tasks = new HashMap<>();

    /**
     * Sets the tasks for jobs that begin later, as a JSON object with the number of each partition's task.
     *
     * @throws IOException if the text is not such an object
     */
    public void set(String json) throws IOException {
        Map<String, Integer> byName = new ObjectMapper().readValue(json, new TypeReference<>() { });
        tasks = new HashMap<>();
        byName.forEach((partition, task) -> tasks.put(UTF8String.fromString(partition), task));
    }

    /** Makes a column of a partition's task. Takes the partition and the task by its name's hash; neither is null. */
    public Column at(Seq<Column> partitionAndTask) {
        return Invoked.plain(this, "task", DataTypes.IntegerType, partitionAndTask);
    }

    /** Returns the task of a partition; `byName` if none was set for it. */
    public int task(UTF8String partition, int byName) {
        Integer task = tasks.get(partition);
        return task == null ? byName : task;
    }
}
