package tidemark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class PunctuationStateTest {
    private final PunctuationState state = new PunctuationState();

    private String counted(Object name, Row seed, boolean counts, Long issued) {
        return this.state.call(name, null, seed, counts, 2L, null, issued, null).toString();
    }

    private String period(Long period, Long issued) {
        return this.state.call(1L, null, null, true, null, period, issued, null).toString();
    }

    @Test
    @DisplayName("each second row that counts issues a punctuation, which never falls")
    void counts() {
        assertEquals("[null,null]", counted(1L, null, true, 5L));
        assertEquals("[null,null]", counted(1L, null, false, 6L));
        assertEquals("[null,7]", counted(1L, null, true, 7L));
        assertEquals("[7,7]", counted(1L, null, true, 8L));
        assertEquals("[7,7]", counted(1L, null, true, 3L));
    }

    @Test
    @DisplayName("rows are counted on from the seed")
    void countsFromSeed() {
        Row seed = RowFactory.create(null, 1L, null);
        assertEquals("[null,null]", this.state.call(1L, null, seed, true, 3L, null, 5L, null).toString());
        assertEquals("[null,6]", this.state.call(1L, null, seed, true, 3L, null, 6L, null).toString());
    }

    @Test
    @DisplayName("the first row of a later period issues a punctuation")
    void periods() {
        assertEquals("[null,5]", period(10L, 5L));
        assertEquals("[5,5]", period(10L, 6L));
        assertEquals("[5,5]", period(9L, 7L));
        assertEquals("[5,5]", period(null, 8L));
        assertEquals("[5,9]", period(11L, 9L));
    }

    @Test
    @DisplayName("a row that is a punctuation sets it at once, unless it is earlier")
    void set() {
        assertEquals("[null,4]", this.state.call(1L, null, null, false, 2L, null, 9L, 4L).toString());
        assertEquals("[4,4]", this.state.call(1L, null, null, false, 2L, null, 9L, 3L).toString());
        assertEquals("[4,4]", this.state.call(1L, null, null, null, 2L, null, 9L, null).toString());
    }

    @Test
    @DisplayName("a group begins with the seed of its first row")
    void seeds() {
        assertEquals("[4,6]", counted(1L, RowFactory.create(4L, 3L, null), true, 6L));
        assertEquals("[6,6]", counted(1L, RowFactory.create(9L, 1L, null), true, 7L));
        assertEquals("[null,null]", counted(2L, RowFactory.create(null, null, null), true, 8L));
        assertEquals("[null,8]", counted(4L, RowFactory.create(null, 1L, null), true, 8L));
        Row known = RowFactory.create(null, null, 10L);
        assertEquals("[null,null]", this.state.call(3L, null, known, true, null, 10L, 5L, null).toString());
        assertEquals("[null,6]", this.state.call(3L, null, known, true, null, 11L, 6L, null).toString());
    }

    @Test
    @DisplayName("groups of several parts may come in turns, and a part begins another group with another name")
    void turns() {
        byte[] p = {1};
        byte[] q = {2};
        assertEquals("[null,1]", this.state.call(1L, p, null, false, 2L, null, null, 1L).toString());
        assertEquals("[null,2]", this.state.call(1L, q, null, false, 2L, null, null, 2L).toString());
        assertEquals("[1,1]", this.state.call(1L, p.clone(), null, false, 2L, null, null, null).toString());
        assertEquals("[null,null]", this.state.call(2L, p, null, false, 2L, null, null, null).toString());
        assertEquals("[2,2]", this.state.call(1L, q, null, false, 2L, null, null, null).toString());
        assertEquals("[null,null]", this.state.call(1L, p, null, false, 2L, null, null, null).toString());
        assertEquals("[null,3]", this.state.call(1L, p, null, false, 2L, null, null, 3L).toString());
        assertEquals("[null,null]", this.state.call(1L, null, null, false, 2L, null, null, null).toString());
    }
}
