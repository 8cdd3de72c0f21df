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
 * time, system timestamp, offset, watermark, and marks, one a bit: the row stands for a whole object that could not be
 * read, it ends a lifetime, it tells of progress alone.
 */
public final class Count implements UDF10 {
    private static final long serialVersionUID = 1L;

    private static final int WHOLE = 1;
    private static final int ENDS = 1 << 1;
    private static final int TELLS = 1 << 2;

    private final Tallied told;
    private final String moved;
    private final Rules rules;
    private transient Tally tally;

    private Count(Tallied told, String moved, Rules rules) {
        this.told = told;
        this.moved = moved;
        this.rules = rules;
    }

    /** As a column function; kinds that begin with `moved` are of rows that were moved, and `rules` are those that
     * each row keeps (null: none is looked at). */
    public static UserDefinedFunction function(Tallied told, String moved, Rules rules) {
        return functions.udf((UDF10) new Count(told, moved, rules), DataTypes.BooleanType).asNondeterministic();
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
            Object watermark,
            Object marks) {
        if (this.tally == null) {
            begin();
        }
        this.tally.digest(((Long) hash).longValue());
        int marked = ((Integer) marks).intValue();
        this.tally.object((Integer) object, (marked & WHOLE) != 0);
        this.tally.row(
            (byte[]) partition, (String) kind, (Integer) object,
            (Long) arrival, (Long) event, (Long) stamp, (Long) offset);
        int broken = this.rules == null ? 0 : this.rules.broken(
            (String) kind, (Long) arrival, (Long) event, (Long) stamp, (Long) watermark,
            (marked & ENDS) != 0, (marked & TELLS) != 0);
        if (broken != 0) {
            this.tally.broke(broken, ((Long) offset).longValue());
        }
        if (kind != null && stamp != null && event != null && ((String) kind).startsWith(this.moved)) {
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
