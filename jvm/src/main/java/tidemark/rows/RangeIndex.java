package tidemark.rows;

import java.util.Arrays;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * The index of the range that a time is in: the number of starts at or before the time. Crowded times and null, which
 * would make a range too large, are spread over indexes by a hash.
 */
public final class RangeIndex implements UDF2<Long, Long, Integer> {
    private static final long serialVersionUID = 1L;

    private final long[] starts;
    private final long[] crowded;
    private final long spread;

    /** Makes an index; see `function`. */
    RangeIndex(long[] starts, long[] crowded, long spread) {
        this.starts = starts;
        this.crowded = crowded;
        this.spread = spread;
    }

    /**
     * Returns the index as a function of columns.
     *
     * @param starts the starts of all ranges but the first, ascending and without doubles
     * @param crowded the crowded times, ascending
     * @param spread the number of indexes over which crowded times are spread
     */
    public static UserDefinedFunction function(long[] starts, long[] crowded, long spread) {
        return functions.udf(new RangeIndex(starts, crowded, spread), DataTypes.IntegerType);
    }

    /**
     * Returns the index of a row, which is 0 for null without a hash.
     *
     * @param time the time in the unit of the starts, or null
     * @param hash the number by which crowded times are spread; null if they are not
     */
    @Override
    public Integer call(Long time, Long hash) {
        if (hash != null && (time == null || Arrays.binarySearch(this.crowded, time) >= 0)) {
            return (int) Math.floorMod(hash, this.spread);
        }
        if (time == null) {
            return 0;
        }
        int found = Arrays.binarySearch(this.starts, time);
        return found >= 0 ? found + 1 : -found - 1;
    }
}
