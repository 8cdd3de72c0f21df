package tidemark.plans;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;

/** A plan parameter: the tasks of partitions that are not assigned by the hash of their names. */
public final class PlanTasks implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private Map tasks = new HashMap();

    /** Sets the tasks for jobs that begin from now on: a JSON object with the number of each partition's task. */
    public void tell(String told) throws IOException {
        this.tasks = new HashMap();
        Iterator each = ((Map) new ObjectMapper().readValue(told, Map.class)).entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry entry = (Map.Entry) each.next();
            this.tasks.put(UTF8String.fromString((String) entry.getKey()), entry.getValue());
        }
    }

    /** The task of a partition as a column. Takes the partition and the task by its name's hash; neither is null. */
    public Column at(Seq partitionAndTask) {
        return Invoked.plain(this, "task", DataTypes.IntegerType, partitionAndTask);
    }

    public int task(UTF8String partition, int byName) {
        Integer task = (Integer) this.tasks.get(partition);
        return task == null ? byName : task.intValue();
    }
}
