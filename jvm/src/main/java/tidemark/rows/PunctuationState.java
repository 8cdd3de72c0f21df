package tidemark.rows;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF8;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;

/**
 * The latest punctuation of a group before each row and after it. Rows come in the order of the log. Two values name
 * a group. Rows of several second values may come in turns: a group ends when its second value comes with another
 * first one.
 */
public final class PunctuationState implements UDF8<Object, Object, Row, Boolean, Long, Long, Long, Long, Row> {
    private static final long serialVersionUID = 1L;

    private static final String RESULT = "before BIGINT, after BIGINT";

    private final Map<Object, Group> groups = new HashMap<>();
    private Object part;
    private Group current;

    private static final class Group implements Serializable {
        private static final long serialVersionUID = 1L;

        private final Object name;
        private Long punctuation;
        private long counted;
        private Long period;

        Group(Object name, Row seed) {
            this.name = name;
            if (seed != null) {
                this.punctuation = (Long) seed.get(0);
                this.counted = seed.isNullAt(1) ? 0 : seed.getLong(1);
                this.period = (Long) seed.get(2);
            }
        }

        /** Counts a row and returns true if a punctuation is due at it. */
        boolean count(Long every, Long rowPeriod) {
            this.counted++;
            if (every != null) {
                return this.counted % every == 0;
            }
            if (rowPeriod != null && (this.period == null || rowPeriod > this.period)) {
                this.period = rowPeriod;
                return true;
            }
            return false;
        }
    }

    /** Returns the state as a function of columns, a struct, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf(new PunctuationState(), DataType.fromDDL(RESULT)).asNondeterministic();
    }

    /**
     * Returns the punctuations before and after a row, each microseconds since 1970 (UTC) or null if there is none.
     *
     * @param name the first value that names the group: a number, bytes or null
     * @param part the second value: a number, bytes or null
     * @param seed punctuation, counted rows and period with which the group begins, read at its first row; or null
     * @param counts true if the row counts
     * @param every the number of counted rows from one punctuation to the next, or null
     * @param period the number of the row's period, or null; a later period than before issues a punctuation
     * @param issued the punctuation that the row gives if one is due
     * @param set the punctuation that the row gives in any case, or null
     */
    @Override
    public Row call(
            Object name, Object part, Row seed, Boolean counts, Long every, Long period, Long issued, Long set) {
        Group group = enter(name, part, seed);
        Long before = group.punctuation;
        if (Boolean.TRUE.equals(counts) && group.count(every, period)) {
            group.punctuation = Nullable.max(group.punctuation, issued);
        }
        group.punctuation = Nullable.max(group.punctuation, set);
        return RowFactory.create(before, group.punctuation);
    }

    private Group enter(Object name, Object part, Row seed) {
        if (this.current != null
                && Objects.deepEquals(part, this.part)
                && Objects.deepEquals(name, this.current.name)) {
            return this.current;
        }
        Object key = part instanceof byte[] bytes ? ByteBuffer.wrap(bytes) : part;
        Group found = this.groups.get(key);
        if (found == null || !Objects.deepEquals(name, found.name)) {
            found = new Group(name, seed);
            this.groups.put(key, found);
        }
        this.part = part;
        this.current = found;
        return found;
    }
}
