package tidemark.rows;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF8;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;

/**
 * The punctuation that a group's rows have come to, before each row and after it, in the order of the log.
 *
 * Arguments: what names the group, in two parts (each a number, bytes or null); a struct with watermark, counted rows
 * and period that the group begins with, or null, looked at in its first row; whether the row counts; every so many rows
 * there is a punctuation, or null; the period of the row, or null; the punctuation that the row would give if it gave
 * one; and the one that it is, or null. Rows of several second parts may come in turns: a group ends when its second
 * part comes with another first one.
 */
public final class PunctuationState implements UDF8 {
    private static final long serialVersionUID = 1L;

    private static final String GIVES = "before BIGINT, after BIGINT";

    private final Map groups = new HashMap();
    private Object part;
    private Group last;

    /** What one group has come to. */
    private static final class Group implements java.io.Serializable {
        private static final long serialVersionUID = 1L;

        private final Object name;
        private Long mark;
        private long counted;
        private Long period;

        Group(Object name, Row known) {
            this.name = name;
            if (known != null) {
                this.mark = (Long) known.get(0);
                this.counted = known.get(1) == null ? 0 : known.getLong(1);
                this.period = (Long) known.get(2);
            }
        }

        boolean issues(Long every, Long entered) {
            this.counted++;
            if (every != null) {
                return this.counted % every.longValue() == 0;
            }
            if (entered != null && (this.period == null || entered.longValue() > this.period.longValue())) {
                this.period = entered;
                return true;
            }
            return false;
        }
    }

    /** As a column function, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf((UDF8) new PunctuationState(), DataType.fromDDL(GIVES)).asNondeterministic();
    }

    public Object call(
            Object name, Object part, Object seed, Object counts, Object every, Object period, Object given, Object set) {
        Group group = group(name, part, (Row) seed);
        Long before = group.mark;
        if (Boolean.TRUE.equals(counts) && group.issues((Long) every, (Long) period)) {
            group.mark = PrecedingMaximum.latest(group.mark, (Long) given);
        }
        group.mark = PrecedingMaximum.latest(group.mark, (Long) set);
        return RowFactory.create(new Object[] {before, group.mark});
    }

    private Group group(Object name, Object part, Row seed) {
        if (this.last != null && PrecedingMaximum.same(part, this.part) && PrecedingMaximum.same(name, this.last.name)) {
            return this.last;
        }
        Object key = part instanceof byte[] ? ByteBuffer.wrap((byte[]) part) : part;
        Group found = (Group) this.groups.get(key);
        if (found == null || !PrecedingMaximum.same(name, found.name)) {
            found = new Group(name, seed);
            this.groups.put(key, found);
        }
        this.part = part;
        this.last = found;
        return found;
    }
}
