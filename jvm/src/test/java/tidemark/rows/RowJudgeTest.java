package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static tidemark.rows.Nullable.NONE;

import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RowJudgeTest {
    private static final long ARRIVAL = 1_000;
    private static final long DISORDER = 20;
    private static final long MIN_TIME = -100;

    private final TolerancePolicy adjusting = new TolerancePolicy(30, "adjust", 50, "adjust", "adjust");
    private final TolerancePolicy dropping = new TolerancePolicy(30, "drop", 50, "drop", "drop");

    private static RowJudge judge(TolerancePolicy policy) {
        return new RowJudge(policy, DISORDER, MIN_TIME);
    }

    /** Judges a row of group 1 that arrives at `ARRIVAL`, as the two steps of the policy leave it. */
    private static String judged(RowJudge judge, TolerancePolicy policy, long event, long watermark, long high) {
        Long staged = policy.stagedTime(ARRIVAL, event);
        return text(judge.judge(1, null, null, ARRIVAL, event, orNone(staged), NONE, watermark, high));
    }

    /** Judges an interval of group 1 that arrives at `ARRIVAL`. */
    private static String lasting(RowJudge judge, TolerancePolicy policy, long event, long end, long watermark) {
        Long staged = policy.stagedTime(ARRIVAL, event, end);
        return text(judge.judge(1, null, null, ARRIVAL, event, orNone(staged), end, watermark, NONE));
    }

    private static long orNone(Long time) {
        return time == null ? NONE : time;
    }

    /** The first row of a group that has nothing before it but a watermark. */
    private static String first(TolerancePolicy policy, long event, long watermark) {
        return judged(judge(policy), policy, event, watermark, NONE);
    }

    private static String text(InternalRow row) {
        Long stamp = row.isNullAt(0) ? null : row.getLong(0);
        Long watermark = row.isNullAt(3) ? null : row.getLong(3);
        String reasons = Arrays.stream(row.getArray(2).toObjectArray(DataTypes.StringType))
            .map(String::valueOf).collect(Collectors.joining(","));
        return stamp + " " + row.getUTF8String(1) + " [" + reasons + "] " + watermark;
    }

    @Test
    @DisplayName("rows at the bounds are on time, and rows beyond them are adjusted or dropped")
    void earlyAndLate() {
        assertEquals("1030 on_time [] null", first(this.adjusting, 1_030, NONE));
        assertEquals("1030 adjusted [early] null", first(this.adjusting, 1_031, NONE));
        assertEquals("950 on_time [] null", first(this.adjusting, 950, NONE));
        assertEquals("950 adjusted [late] null", first(this.adjusting, 949, NONE));
        assertEquals("1030 on_time [] null", first(this.dropping, 1_030, NONE));
        assertEquals("null dropped [early] null", first(this.dropping, 1_031, NONE));
        assertEquals("950 on_time [] null", first(this.dropping, 950, NONE));
        assertEquals("null dropped [late] null", first(this.dropping, 949, NONE));
    }

    @Test
    @DisplayName("rows behind the watermark are adjusted to it, dropped or kept")
    void outOfOrder() {
        assertEquals("990 on_time [] 990", first(this.adjusting, 990, 990));
        assertEquals("990 adjusted [out_of_order] 990", first(this.adjusting, 989, 990));
        assertEquals("null dropped [out_of_order] 990", first(this.dropping, 989, 990));
        var keeping = new TolerancePolicy(30, "adjust", 50, "adjust", "keep");
        assertEquals("989 on_time [] 990", first(keeping, 989, 990));
    }

    @Test
    @DisplayName("a row may be both early or late and out of order, in this order")
    void twoReasons() {
        assertEquals("990 adjusted [late,out_of_order] 990", first(this.adjusting, 949, 990));
        assertEquals("1040 adjusted [early,out_of_order] 1040", first(this.adjusting, 1_031, 1_040));
        assertEquals("null dropped [late] 990", first(this.dropping, 949, 990));
    }

    @Test
    @DisplayName("the watermark trails the highest time before the row, which no row behind it moves")
    void watermark() {
        RowJudge judge = judge(this.adjusting);
        assertEquals("1000 on_time [] null", judged(judge, this.adjusting, 1_000, NONE, NONE));
        assertEquals("1010 on_time [] 980", judged(judge, this.adjusting, 1_010, NONE, NONE));
        assertEquals("990 adjusted [out_of_order] 990", judged(judge, this.adjusting, 985, NONE, NONE));
        assertEquals("1010 on_time [] 990", judged(judge, this.adjusting, 1_010, NONE, NONE));
        assertEquals("1010 on_time [] 1005", judged(judge, this.adjusting, 1_010, 1_005, NONE));
        assertEquals("1010 on_time [] 1000", judged(judge, this.adjusting, 1_010, NONE, 1_020));
    }

    @Test
    @DisplayName("a watermark from the highest time is at the earliest time or later")
    void minTime() {
        var off = new TolerancePolicy(null, null, null, null, "adjust");
        assertEquals("-90 on_time [] -100", judged(judge(off), off, -90, NONE, -90));
        assertEquals("-80 on_time [] -99", judged(judge(off), off, -80, NONE, -79));
    }

    @Test
    @DisplayName("a group begins without the times of other groups, and mixed groups have times of their own")
    void groups() {
        RowJudge judge = judge(this.adjusting);
        judge.judge(1, null, null, ARRIVAL, 1_000, 1_000, NONE, NONE, NONE);
        assertEquals("970 on_time [] null", text(judge.judge(2, null, null, ARRIVAL, 970, 970, NONE, NONE, NONE)));
        RowJudge mixed = judge(this.adjusting);
        UTF8String p = UTF8String.fromString("p");
        UTF8String q = UTF8String.fromString("q");
        mixed.judge(0, p, p, null, ARRIVAL, 1_000, 1_000, NONE, NONE, NONE);
        assertEquals("970 on_time [] null", text(mixed.judge(0, p, q, null, ARRIVAL, 970, 970, NONE, NONE, NONE)));
        String behind = text(mixed.judge(0, p, p, null, ARRIVAL, 970, 970, NONE, NONE, NONE));
        assertEquals("980 adjusted [out_of_order] 980", behind);
    }

    @Test
    @DisplayName("an interval that a step moves to its end or past it is dropped, and meets no later step")
    void empty() {
        assertEquals("950 adjusted [late] null", lasting(judge(this.adjusting), this.adjusting, 900, 951, NONE));
        assertEquals("null dropped [late,empty] null", lasting(judge(this.adjusting), this.adjusting, 900, 950, NONE));
        assertEquals("null dropped [late,empty] 990", lasting(judge(this.adjusting), this.adjusting, 900, 950, 990));
        assertEquals("990 adjusted [out_of_order] 990", lasting(judge(this.adjusting), this.adjusting, 960, 991, 990));
        String behind = lasting(judge(this.adjusting), this.adjusting, 960, 990, 990);
        assertEquals("null dropped [out_of_order,empty] 990", behind);
        String both = lasting(judge(this.adjusting), this.adjusting, 900, 951, 990);
        assertEquals("null dropped [late,out_of_order,empty] 990", both);
        assertEquals("null dropped [late] 990", lasting(judge(this.dropping), this.dropping, 900, 950, 990));
        assertEquals("null dropped [out_of_order] 990", lasting(judge(this.dropping), this.dropping, 960, 990, 990));
        assertEquals("1030 adjusted [early] null", lasting(judge(this.adjusting), this.adjusting, 1_031, 1_032, NONE));
        assertEquals("960 on_time [] null", lasting(judge(this.adjusting), this.adjusting, 960, 961, NONE));
    }

    @Test
    @DisplayName("an interval that is dropped moves no watermark")
    void emptyMovesNothing() {
        RowJudge judge = judge(this.adjusting);
        assertEquals("null dropped [late,empty] null", lasting(judge, this.adjusting, 900, 950, NONE));
        assertEquals("960 on_time [] null", lasting(judge, this.adjusting, 960, 980, NONE));
        assertEquals("960 on_time [] 940", lasting(judge, this.adjusting, 960, 980, NONE));
    }

    @Test
    @DisplayName("a bad row is quarantined for its reason and moves nothing")
    void quarantined() {
        RowJudge judge = judge(this.adjusting);
        UTF8String reason = UTF8String.fromString("invalid_time");
        InternalRow row = judge.judge(1, null, reason, ARRIVAL, NONE, NONE, NONE, 990, NONE);
        assertEquals("null quarantined [invalid_time] null", text(row));
        assertEquals("990 on_time [] 990", judged(judge, this.adjusting, 990, 990, NONE));
    }

    @Test
    @DisplayName("several reasons of quarantine are apart, and a duplicate is dropped under its watermark")
    void severalReasonsAndDuplicates() {
        RowJudge judge = judge(this.adjusting);
        UTF8String reasons = UTF8String.fromString("require.one,require.two");
        InternalRow row = judge.judge(1, null, reasons, ARRIVAL, 1_000, NONE, NONE, 990, NONE);
        assertEquals(2, row.getArray(2).numElements());
        assertEquals("null quarantined [require.one,require.two] null", text(row));
        row = judge.judge(1, null, UTF8String.fromString("duplicate"), ARRIVAL, 1_031, NONE, NONE, 990, NONE);
        assertEquals("null dropped [duplicate] 990", text(row));
        assertEquals("990 on_time [] 990", judged(judge, this.adjusting, 990, 990, NONE));
    }
}
