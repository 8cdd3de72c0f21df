package tidemark.rows;

import java.util.Arrays;
import java.util.stream.Stream;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * A time by another clock: the time plus the shift of the stretch that it is in, and never less than the floor of this
 * stretch. Behind the last stretches, all repeat after each cycle. Times are microseconds.
 */
public final class ClockTime implements UDF1<Long, Long> {
    private static final long serialVersionUID = 1L;

    private final long[] begins;
    private final long[] floors;
    private final long[] shifts;
    private final long repeats;
    private final long cycle;

    /** Makes a clock; see `function`. */
    ClockTime(long[] begins, long[] floors, long[] shifts, long repeats, long cycle) {
        this.begins = begins;
        this.floors = floors;
        this.shifts = shifts;
        this.repeats = repeats;
        this.cycle = cycle;
    }

    /**
     * Returns the clock as a function of a column. The first three are numbers with a comma between them.
     *
     * @param begins the times at which stretches begin, ascending; the first is less than any time
     * @param floors the least time that is shown in each stretch
     * @param shifts what is added in each stretch
     * @param repeats the time from which on stretches repeat
     * @param cycle the time after which they do
     */
    public static UserDefinedFunction function(
            String begins, String floors, String shifts, long repeats, long cycle) {
        var clock = new ClockTime(numbers(begins), numbers(floors), numbers(shifts), repeats, cycle);
        return functions.udf(clock, DataTypes.LongType);
    }

    private static long[] numbers(String text) {
        return Stream.of(text.split(",")).mapToLong(Long::parseLong).toArray();
    }

    /**
     * Returns the time by this clock.
     *
     * @param time the time, or null
     */
    @Override
    public Long call(Long time) {
        if (time == null) {
            return null;
        }
        long cycles = Math.max(Math.floorDiv(time - this.repeats, this.cycle), 0) * this.cycle;
        long moved = time - cycles;
        int found = Arrays.binarySearch(this.begins, moved);
        int stretch = found >= 0 ? found : -found - 2;
        return Math.max(this.floors[stretch], moved + this.shifts[stretch]) + cycles;
    }
}
