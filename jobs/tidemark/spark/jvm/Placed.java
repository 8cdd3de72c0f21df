package tidemark;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;

/** The tasks of partitions that are not spread by their names, told to the tasks of a job as it begins. */
public final class Placed implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private Map tasks = new HashMap();

    /** For jobs that begin from now on, as JSON: the number of the task of each partition. */
    public void tell(String told) throws IOException {
        this.tasks = new HashMap();
        Iterator each = ((Map) new ObjectMapper().readValue(told, Map.class)).entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry entry = (Map.Entry) each.next();
            this.tasks.put(UTF8String.fromString((String) entry.getKey()), entry.getValue());
        }
    }

    /** As a column of a partition and the task that it has by its name, neither of them null: the task that it has. */
    public Column at(Seq partitionAndTask) {
        return Invoked.plain(this, "task", DataTypes.IntegerType, partitionAndTask);
    }

    public int task(UTF8String partition, int byName) {
        Integer task = (Integer) this.tasks.get(partition);
        return task == null ? byName : task.intValue();
    }
}
