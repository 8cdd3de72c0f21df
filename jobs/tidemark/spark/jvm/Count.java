package tidemark;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.api.java.UDF10;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Counts the rows that pass, and is true of each. What a task has counted is told when it ends.
 *
 * Arguments: the row's hash, partition (bytes), object, kind (fate and reasons, null of a row on time), arrival, event
 * time, system timestamp, offset, whether the row stands for a whole object that could not be read, and the rules that
 * the row breaks as bits (null: none).
 */
public final class Count implements UDF10 {
    private static final long serialVersionUID = 1L;

    private final Tallied told;
    private final String moved;
    private transient Tally tally;

    private Count(Tallied told, String moved) {
        this.told = told;
        this.moved = moved;
    }

    /** As a column function; kinds that begin with `moved` are of rows that were moved. */
    public static UserDefinedFunction function(Tallied told, String moved) {
        return functions.udf((UDF10) new Count(told, moved), DataTypes.BooleanType).asNondeterministic();
    }

    public Object call(
            Object hash,
            Object partition,
            Object object,
            Object kind,
            Object arrival,
            Object event,
            Object stamp,
            Object offset,
            Object whole,
            Object broken) {
        if (this.tally == null) {
            begin();
        }
        this.tally.digest(((Long) hash).longValue());
        this.tally.object((Integer) object, Boolean.TRUE.equals(whole));
        this.tally.row(
            (byte[]) partition, (String) kind, (Integer) object,
            (Long) arrival, (Long) event, (Long) stamp, (Long) offset);
        if (broken != null) {
            this.tally.broke(((Integer) broken).intValue(), ((Long) offset).longValue());
        }
        if (kind != null && ((String) kind).startsWith(this.moved)) {
            this.tally.moved(Math.abs(((Long) stamp).longValue() - ((Long) event).longValue()));
        }
        return Boolean.TRUE;
    }

    private void begin() {
        this.tally = new Tally();
        final Tally counted = this.tally;
        final Tallied all = this.told;
        TaskContext.get().addTaskCompletionListener(new TaskCompletionListener() {
            public void onTaskCompletion(TaskContext context) {
                all.add(counted);
            }
        });
    }
}
