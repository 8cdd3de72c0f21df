package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static tidemark.rows.Nullable.NONE;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RowRulesTest {
    private static final long ARRIVAL = 1_000;
    private static final RowRules RULES = new RowRules(30, 50, false);

    private static int onTime(long event, long stamp, long watermark) {
        return RULES.broken(null, false, ARRIVAL, event, stamp, watermark, false, false);
    }

    private static int adjusted(String kind, long event, long stamp, long watermark) {
        return RULES.broken(kind, true, ARRIVAL, event, stamp, watermark, false, false);
    }

    private static int dropped(long stamp) {
        return RULES.broken("dropped,late", false, ARRIVAL, 900, stamp, NONE, false, false);
    }

    @Test
    @DisplayName("a row on time has its event time for its system timestamp")
    void eventTime() {
        assertEquals(0, onTime(1_000, 1_000, NONE));
        assertEquals(RowRules.EVENT_TIME, onTime(1_000, 1_001, NONE));
        assertEquals(0, RULES.broken(null, false, ARRIVAL, 1_000, 1_001, NONE, true, false));
    }

    @Test
    @DisplayName("an adjusted row was moved, unless two steps moved it")
    void moved() {
        assertEquals(0, adjusted("adjusted,late", 900, 950, NONE));
        assertEquals(RowRules.MOVED, adjusted("adjusted,late", 950, 950, NONE));
        assertEquals(0, adjusted("adjusted,late,out_of_order", 950, 950, NONE));
    }

    @Test
    @DisplayName("rows on time and adjusted rows have a system timestamp, all others have none")
    void judged() {
        assertEquals(RowRules.JUDGED | RowRules.EVENT_TIME, onTime(1_000, NONE, NONE));
        assertEquals(RowRules.JUDGED, adjusted("adjusted,late", 1_000, NONE, NONE));
        assertEquals(0, dropped(NONE));
        assertEquals(RowRules.JUDGED, dropped(1_000));
    }

    @Test
    @DisplayName("the system timestamp is within both tolerances or at a later watermark")
    void within() {
        assertEquals(0, onTime(950, 950, NONE));
        assertEquals(RowRules.WITHIN, onTime(949, 949, NONE));
        assertEquals(0, onTime(1_030, 1_030, NONE));
        assertEquals(RowRules.WITHIN, onTime(1_031, 1_031, NONE));
        assertEquals(0, adjusted("adjusted,out_of_order", 1_000, 1_031, 1_031));
        assertEquals(RowRules.WITHIN, onTime(949, 949, 949));
        assertEquals(0, RULES.broken(null, false, NONE, 949, 949, NONE, false, false));
    }

    @Test
    @DisplayName("a row that breaks several rules is counted for each")
    void several() {
        assertEquals(RowRules.EVENT_TIME | RowRules.WITHIN, onTime(1_000, 949, NONE));
        assertEquals(RowRules.WITHIN | RowRules.NOT_BEHIND, onTime(949, 949, 1_000));
    }

    @Test
    @DisplayName("no row is behind the watermark but those that are kept, end a lifetime or report progress alone")
    void notBehind() {
        assertEquals(0, onTime(1_000, 1_000, 1_000));
        assertEquals(RowRules.NOT_BEHIND, onTime(1_000, 1_000, 1_001));
        assertEquals(0, RULES.broken(null, false, ARRIVAL, 1_000, 1_000, 1_001, true, false));
        assertEquals(0, RULES.broken(null, false, ARRIVAL, 1_000, 1_000, 1_001, false, true));
        var keeping = new RowRules(30, 50, true);
        assertEquals(0, keeping.broken(null, false, ARRIVAL, 1_000, 1_000, 1_001, false, false));
    }
}
