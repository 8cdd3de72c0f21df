package tidemark.count;

import java.io.Serializable;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;
import tidemark.rows.Nullable;
import tidemark.rows.RowRules;

/** A filter that counts event rows and lets all of them pass. A task's counts are added up when the task ends. */
public final class EventCounter implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final int WHOLE_OBJECT = 1;
    private static final int ENDS_LIFETIME = 1 << 1;
    private static final int PROGRESS_ONLY = 1 << 2;

    private final EventCountsAccumulator total;
    private final String adjustedPrefix;
    private final RowRules rules;
    private transient EventCounts counts;

    private EventCounter(EventCountsAccumulator total, String adjustedPrefix, RowRules rules) {
        this.total = total;
        this.adjustedPrefix = adjustedPrefix;
        this.rules = rules;
    }

    /**
     * Makes the column that counts. Its arguments are those of `call`.
     *
     * @param adjustedPrefix the beginning of the kinds of adjusted rows
     * @param rules the rules that each row must keep
     */
    public static Column function(
            Seq<Column> arguments, EventCountsAccumulator total, String adjustedPrefix, RowRules rules) {
        return Invoked.inTurn(
            new EventCounter(total, adjustedPrefix, rules), "call", DataTypes.BooleanType, arguments);
    }

    /**
     * Counts a row; always true. Times are microseconds since 1970 (UTC). A time or offset that is missing is
     * `Nullable.NONE`.
     *
     * @param hashHigh the upper half of the row's hash
     * @param hashLow the lower half of the row's hash
     * @param object the number of the row's object in its batch
     * @param kind fate and reasons with commas between; null for a row on time
     * @param arrival the arrival time
     * @param event the event time
     * @param stamp the system timestamp
     * @param watermark the watermark before the row
     * @param unknown names of members that the schema lacks, as `MemberNames` writes them; null if there are none
     * @param marks one bit each: the row is of a whole object that cannot be read; it ends a lifetime; it reports
     *     progress alone
     */
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
        if (counts == null) {
            begin();
        }
        String kindText = kind == null ? null : kind.toString();
        counts.addHash(hashHigh, hashLow);
        counts.addToObject(object, (marks & WHOLE_OBJECT) != 0);
        if (unknown != null) {
            counts.addUnknown(unknown, object);
        }
        counts.addRow(partition, kindText, object, arrival, event, stamp, offset);
        boolean adjusted = kindText != null && kindText.startsWith(adjustedPrefix);
        int broken = rules.broken(
            kindText, adjusted, arrival, event, stamp, watermark, (marks & ENDS_LIFETIME) != 0,
            (marks & PROGRESS_ONLY) != 0);
        if (broken != 0) {
            counts.addBroken(broken, offset);
        }
        if (adjusted && stamp != Nullable.NONE && event != Nullable.NONE) {
            counts.addMove(Math.abs(stamp - event));
        }
        return true;
    }

    private void begin() {
        EventCounts ofTask = new EventCounts();
        TaskCompletionListener addUp = task -> total.add(ofTask);
        TaskContext.get().addTaskCompletionListener(addUp);
        counts = ofTask;
    }
}
