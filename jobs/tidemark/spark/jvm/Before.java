package tidemark;

import java.util.Arrays;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;

/**
 * The greatest value of a group's rows before each row; null where there is none. Arguments: what names the
 * group, in two parts (a number or bytes; bytes or null), and the value, `Running.NONE` where it would be null.
 */
public final class Before implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private byte[] group;
    private long number;
    private byte[] part;
    private boolean begun;
    private Long greatest;

    /** As a column. */
    public static Column function(Seq arguments) {
        return Invoked.inTurnOrNull(new Before(), "call", DataTypes.LongType, arguments);
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

    private Long before(boolean same, byte[] part, long value) {
        this.begun = true;
        this.part = part;
        Long before = same ? this.greatest : null;
        this.greatest = before == null || value > before.longValue() ? Running.known(value) : before;
        return before;
    }

    static boolean same(Object one, Object other) {
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
