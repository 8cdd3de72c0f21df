package tidemark;

import java.util.Arrays;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * The greatest value of a group's rows before each row; null where there is none. Arguments: what names the
 * group, in two parts (each a number, bytes or null), and the value.
 */
public final class Before implements UDF3 {
    private static final long serialVersionUID = 1L;

    private Object group;
    private Object part;
    private Long greatest;

    /** As a column function, which Spark must neither repeat nor move. */
    public static UserDefinedFunction function() {
        return functions.udf((UDF3) new Before(), DataTypes.LongType).asNondeterministic();
    }

    public Object call(Object group, Object part, Object value) {
        if (!same(group, this.group) || !same(part, this.part)) {
            this.group = group;
            this.part = part;
            this.greatest = null;
        }
        Long before = this.greatest;
        this.greatest = latest(before, (Long) value);
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
