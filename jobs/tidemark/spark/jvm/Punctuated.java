package tidemark;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF8;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;

/**
 * The punctuation that a group's rows have come to, before each row and after it, in the order of the log.
 *
 * Arguments: what names the group, in two parts (each a number, bytes or null); of a seed a struct with its watermark,
 * counted rows and period, else null; whether the row counts; every so many rows there is a punctuation, or null; the
 * period of the row, or null; the punctuation that the row would give if it gave one; and the one that it is, or null.
 */
public final class Punctuated implements UDF8 {
    private static final long serialVersionUID = 1L;

    private static final String GIVES = "before BIGINT, after BIGINT";

    private boolean begun;
    private Object group;
    private Object part;
    private Long mark;
    private long counted;
    private Long period;

    /** As a column function, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf((UDF8) new Punctuated(), DataType.fromDDL(GIVES)).asNondeterministic();
    }

    public Object call(
            Object group, Object part, Object seed, Object counts, Object every, Object period, Object given, Object set) {
        if (!this.begun || !Before.same(group, this.group) || !Before.same(part, this.part)) {
            this.begun = true;
            this.group = group;
            this.part = part;
            this.mark = null;
            this.counted = 0;
            this.period = null;
        }
        if (seed != null) {
            Row known = (Row) seed;
            this.mark = (Long) known.get(0);
            this.counted = known.get(1) == null ? 0 : known.getLong(1);
            this.period = (Long) known.get(2);
        }
        Long before = this.mark;
        if (Boolean.TRUE.equals(counts) && issues((Long) every, (Long) period)) {
            this.mark = Before.latest(this.mark, (Long) given);
        }
        this.mark = Before.latest(this.mark, (Long) set);
        return RowFactory.create(new Object[] {before, this.mark});
    }

    private boolean issues(Long every, Long period) {
        this.counted++;
        if (every != null) {
            return this.counted % every.longValue() == 0;
        }
        if (period != null && (this.period == null || period.longValue() > this.period.longValue())) {
            this.period = period;
            return true;
        }
        return false;
    }
}
