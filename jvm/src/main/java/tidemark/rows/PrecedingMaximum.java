package tidemark.rows;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/**
 * The greatest value of a group's rows before each row; null where there is none. Arguments: what names the
 * group, in two parts (a number or bytes; bytes or null), and the value, `RunningState.NONE` where it would be null.
 *
 * Groups may also come mixed, within runs of rows: then there are three parts, the number of the run and two texts.
 * What is known of a run's groups is held until it ends.
 */
public final class PrecedingMaximum implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private byte[] group;
    private long number;
    private byte[] part;
    private boolean begun;
    private Long greatest;
    private transient List name;
    private transient Map others;

    /** As a column. */
    public static Column function(Seq arguments) {
        return Invoked.inTurnOrNull(new PrecedingMaximum(), "call", DataTypes.LongType, arguments);
    }

    public Long call(long group, byte[] part, long value) {
        boolean same = this.begun && group == this.number && Arrays.equals(part, this.part);
        this.number = group;
        return before(same, part, value);
    }

    public Long call(byte[] group, byte[] part, long value) {
        boolean same = this.begun && Arrays.equals(group, this.group) && Arrays.equals(part, this.part);
        this.group = group;
        return before(same, part, value);
    }

    public Long call(long run, UTF8String one, UTF8String other, long value) {
        boolean begins = !this.begun || run != this.number;
        if (begins || !other.equals(this.name.get(1)) || !one.equals(this.name.get(0))) {
            List name = Arrays.asList(new UTF8String[] {one.copy(), other.copy()});
            this.greatest = begins ? null : known(name);
            this.others = begins ? null : this.others;
            this.name = name;
        }
        this.number = run;
        return before(true, null, value);
    }

    /** What is known of another group of this run; what is known of the one before is held. */
    private Long known(List name) {
        if (this.others == null) {
            this.others = new HashMap();
        }
        this.others.put(this.name, this.greatest);
        return (Long) this.others.get(name);
    }

    private Long before(boolean same, byte[] part, long value) {
        this.begun = true;
        this.part = part;
        Long before = same ? this.greatest : null;
        this.greatest = before == null || value > before.longValue() ? RunningState.known(value) : before;
        return before;
    }

    public static boolean same(Object one, Object other) {
        if (one instanceof byte[] && other instanceof byte[]) {
            return Arrays.equals((byte[]) one, (byte[]) other);
        }
        return one == null ? other == null : one.equals(other);
    }

    static Long latest(Long one, Long other) {
        if (one == null || (other != null && other.longValue() > one.longValue())) {
            return other;
        }
        return one;
    }
}
