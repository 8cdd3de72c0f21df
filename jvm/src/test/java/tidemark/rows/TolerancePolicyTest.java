package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tidemark.rows.Nullable.NONE;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class TolerancePolicyTest {
    private static final long ARRIVAL = 1_000;

    @Test
    @DisplayName("early and late rows are adjusted to the bound, and rows at the bound stay")
    void adjusted() {
        var policy = new TolerancePolicy(30, "adjust", 50L, "adjust", "drop");
        assertEquals(1_030L, policy.stagedTime(ARRIVAL, 1_030));
        assertEquals(1_030L, policy.stagedTime(ARRIVAL, 1_031));
        assertEquals(950L, policy.stagedTime(ARRIVAL, 950));
        assertEquals(950L, policy.stagedTime(ARRIVAL, 949));
        assertEquals(1_001L, policy.stagedTime(ARRIVAL, 1_001));
    }

    @Test
    @DisplayName("early and late rows are dropped beyond the bound, and rows at the bound stay")
    void dropped() {
        var policy = new TolerancePolicy(30, "drop", 50, "drop", "drop");
        assertEquals(1_030L, policy.stagedTime(ARRIVAL, 1_030));
        assertNull(policy.stagedTime(ARRIVAL, 1_031));
        assertEquals(950L, policy.stagedTime(ARRIVAL, 950));
        assertNull(policy.stagedTime(ARRIVAL, 949));
    }

    @Test
    @DisplayName("a tolerance that is off holds for every row, and one of 0 for no row but those at the arrival")
    void off() {
        var off = new TolerancePolicy(null, null, null, null, "drop");
        assertEquals(Long.MAX_VALUE, off.stagedTime(ARRIVAL, Long.MAX_VALUE));
        assertEquals(0L, off.stagedTime(ARRIVAL, 0));
        var zero = new TolerancePolicy(0, "drop", 0, "drop", "drop");
        assertNull(zero.stagedTime(ARRIVAL, 1_001));
        assertEquals(ARRIVAL, zero.stagedTime(ARRIVAL, ARRIVAL));
        assertNull(zero.stagedTime(ARRIVAL, 999));
    }

    @Test
    @DisplayName("an interval needs a time before its end, and only the late step moves a start there")
    void ends() {
        var policy = new TolerancePolicy(30, "adjust", 50, "adjust", "drop");
        assertEquals(950L, policy.stagedTime(ARRIVAL, 949, 951));
        assertNull(policy.stagedTime(ARRIVAL, 949, 950));
        assertFalse(policy.isEmptied(ARRIVAL, 949, 951));
        assertTrue(policy.isEmptied(ARRIVAL, 949, 950));
        assertFalse(policy.isEmptied(ARRIVAL, 950, 950));
        assertEquals(1_030L, policy.stagedTime(ARRIVAL, 1_031, 1_032));
        var dropping = new TolerancePolicy(30, "drop", 50, "drop", "drop");
        assertNull(dropping.stagedTime(ARRIVAL, 949, 2_000));
        assertFalse(dropping.isEmptied(ARRIVAL, 949, 950));
        var off = new TolerancePolicy(null, null, null, null, "drop");
        assertFalse(off.isEmptied(ARRIVAL, 0, 1));
    }

    @Test
    @DisplayName("rows behind the watermark are dropped, adjusted or kept")
    void outOfOrder() {
        var drop = new TolerancePolicy(null, null, null, null, "drop");
        assertTrue(drop.isOutOfOrder(9, 10));
        assertFalse(drop.isOutOfOrder(10, 10));
        assertFalse(drop.isOutOfOrder(NONE, 10));
        assertEquals(NONE, drop.outOfOrderStamp(10));
        var adjust = new TolerancePolicy(null, null, null, null, "adjust");
        assertTrue(adjust.isOutOfOrder(9, 10));
        assertEquals(10, adjust.outOfOrderStamp(10));
        var keep = new TolerancePolicy(null, null, null, null, "keep");
        assertFalse(keep.isOutOfOrder(9, 10));
    }
}
