package tidemark.count;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;
import tidemark.rows.Rules;
import tidemark.rows.Running;

/**
 * Counts the rows that pass, and is true of each. What a task has counted is told when it ends.
 *
 * Arguments: both halves of the row's hash, partition, object, kind (fate and reasons, null of a row on time), arrival, event time,
 * system timestamp, offset, watermark, names of members that the schema lacks (null: none), and marks, one a bit: the row stands for a whole object that could not be read,
 * it ends a lifetime, it tells of progress alone. Times are `Running.NONE` where they would be null.
 */
public final class Count implements java.io.Serializable {
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

    /** As a column; kinds that begin with `moved` are of rows that were moved, and `rules` are those that each row
     * keeps. */
    public static Column function(Seq arguments, Tallied told, String moved, Rules rules) {
        return Invoked.inTurn(new Count(told, moved, rules), "call", DataTypes.BooleanType, arguments);
    }

    public boolean call(
            long hashHigh,
            long hashLow,
            UTF8String partition,
            int object,
            UTF8String kind,
            long arrival,
            long event,
            long stamp,
            long offset,
            long watermark,
            UTF8String unknown,
            int marks) {
        if (this.tally == null) {
            begin();
        }
        String named = kind == null ? null : kind.toString();
        this.tally.digest(hashHigh, hashLow);
        this.tally.object(object, (marks & WHOLE) != 0);
        if (unknown != null) {
            this.tally.unknown(unknown, object);
        }
        this.tally.row(partition, named, object, arrival, event, stamp, offset);
        boolean adjusted = named != null && named.startsWith(this.moved);
        int broken = this.rules.broken(
            named, adjusted, arrival, event, stamp, watermark, (marks & ENDS) != 0, (marks & TELLS) != 0);
        if (broken != 0) {
            this.tally.broke(broken, offset);
        }
        if (adjusted && stamp != Running.NONE && event != Running.NONE) {
            this.tally.moved(Math.abs(stamp - event));
        }
        return true;
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
