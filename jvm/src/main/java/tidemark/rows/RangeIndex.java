package tidemark.rows;

import java.util.Arrays;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * The range that a time is in: how many of the ranges after the first begin at or before it. A time that is crowded, or
 * null, is in one of so many that a number tells, if there is one.
 *
 * Arguments: the time, and the number or null.
 */
public final class RangeIndex implements UDF2 {
    private static final long serialVersionUID = 1L;

    private final long[] starts;
    private final long[] crowded;
    private final long many;

    private RangeIndex(long[] starts, long[] crowded, long many) {
        this.starts = starts;
        this.crowded = crowded;
        this.many = many;
    }

    /** As a column function; the times of both arrays ascend and differ. */
    public static UserDefinedFunction function(long[] starts, long[] crowded, long many) {
        return functions.udf((UDF2) new RangeIndex(starts, crowded, many), DataTypes.IntegerType);
    }

    public Object call(Object time, Object number) {
        boolean anywhere = time == null || Arrays.binarySearch(this.crowded, ((Long) time).longValue()) >= 0;
        if (anywhere && number != null) {
            return Integer.valueOf((int) Math.floorMod(((Long) number).longValue(), this.many));
        }
        if (time == null) {
            return Integer.valueOf(0);
        }
        int found = Arrays.binarySearch(this.starts, ((Long) time).longValue());
        return Integer.valueOf(found >= 0 ? found + 1 : -found - 1);
    }
}
