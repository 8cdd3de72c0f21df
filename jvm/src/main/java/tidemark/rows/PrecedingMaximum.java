package tidemark.rows;

import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/**
 * The greatest value of a group's rows before each row; null if there is none. Rows come group after group. There is
 * one method for each type of the columns that name a group.
 *
 * <p>Rows of several groups may also come mixed, within runs of rows. Then the number of the run and two texts name a
 * group, and the maxima of the run's groups are kept until the run ends.
 */
public final class PrecedingMaximum implements Serializable {
    private static final long serialVersionUID = 1L;

    private boolean started;
    private long number;
    private byte[] bytes;
    private byte[] part;
    private Long greatest;
    private transient MixedGroup mixedGroup;
    private transient Map<MixedGroup, Long> otherGroups;

    private record MixedGroup(UTF8String one, UTF8String other) {
    }

    /** Returns the maximum as a BIGINT column. The arguments are those of one of the methods `advance`. */
    public static Column function(Seq<Column> arguments) {
        return Invoked.inTurnOrNull(new PrecedingMaximum(), "advance", DataTypes.LongType, arguments);
    }

    /**
     * Returns the maximum before a row, then adds the row's value.
     *
     * @param group the first part of the group's name
     * @param part the second part, or null
     * @param value the row's value; `NONE` if it has none
     */
    public Long advance(long group, byte[] part, long value) {
        boolean sameGroup = this.started && group == this.number && Arrays.equals(part, this.part);
        this.number = group;
        return add(sameGroup, part, value);
    }

    /**
     * Returns the maximum before a row, then adds the row's value.
     *
     * @param group the first part of the group's name, or null
     * @param part the second part, or null
     * @param value the row's value; `NONE` if it has none
     */
    public Long advance(byte[] group, byte[] part, long value) {
        boolean sameGroup = this.started && Arrays.equals(group, this.bytes) && Arrays.equals(part, this.part);
        this.bytes = group;
        return add(sameGroup, part, value);
    }

    /**
     * Returns the maximum before a row whose group is mixed with others of its run, then adds the row's value.
     *
     * @param run the number of the run; a run does not come back once it has changed
     * @param one the first part of the group's name, not null
     * @param other the second part, not null
     * @param value the row's value; `NONE` if it has none
     */
    public Long advance(long run, UTF8String one, UTF8String other, long value) {
        boolean newRun = !this.started || run != this.number;
        if (newRun || !other.equals(this.mixedGroup.other) || !one.equals(this.mixedGroup.one)) {
            var group = new MixedGroup(one.copy(), other.copy());
            if (newRun) {
                this.greatest = null;
                this.otherGroups = null;
            } else {
                this.greatest = swap(group);
            }
            this.mixedGroup = group;
        }
        this.number = run;
        return add(true, null, value);
    }

    /** Stores the maximum of the group before and returns the one stored for `group`. */
    private Long swap(MixedGroup group) {
        if (this.otherGroups == null) {
            this.otherGroups = new HashMap<>();
        }
        this.otherGroups.put(this.mixedGroup, this.greatest);
        return this.otherGroups.get(group);
    }

    private Long add(boolean sameGroup, byte[] part, long value) {
        this.started = true;
        this.part = part;
        Long before = sameGroup ? this.greatest : null;
        this.greatest = before == null || value > before ? Nullable.box(value) : before;
        return before;
    }
}
