package tidemark.count;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class CandidateGridTest {
    private static CandidateGrid grid() throws IOException {
        return CandidateGrid.read(
            "{\"lates\": [10, 20, null], \"behind\": [[0, 5], [0, 5], [0, 5]], \"early\": 3, \"adjusts_early\": true,"
                + " \"starts\": {\"p\": [[1, 2], [3, 4], [5, 6]]},"
                + " \"highs\": [[\"p\", 8, [[1, 2, 3], [4, 5, 6]]]]}");
    }

    @Test
    @DisplayName("each count has a place of its own, and together they fill the array")
    void places() throws IOException {
        CandidateGrid grid = grid();
        Set<Integer> places = new HashSet<>();
        for (int late = 0; late < 3; late++) {
            for (int many = 0; many <= 2; many++) {
                for (int lane = 0; lane < CandidateGrid.LANES; lane++) {
                    assertTrue(places.add(grid.place(lane, late, false, many)));
                    assertTrue(places.add(grid.place(lane, late, true, many)));
                    assertTrue(places.add(grid.emptiedBehind(lane, late, many)));
                }
            }
            assertTrue(places.add(grid.lateRows(late)));
            assertTrue(places.add(grid.emptiedLate(late)));
        }
        assertTrue(places.add(grid.earlyRows()));
        assertTrue(places.add(grid.quarantinedRows()));
        assertEquals(grid.size(), places.size());
        assertEquals(grid.size() - 1, places.stream().max(Integer::compare).orElseThrow());
    }

    @Test
    @DisplayName("only the last late tolerance may be off")
    void off() throws IOException {
        assertFalse(grid().isOff(1));
        assertTrue(grid().isOff(2));
    }

    @Test
    @DisplayName("a chunk starts from a copy of the highest times before it, other groups from none")
    void highs() throws IOException {
        CandidateGrid grid = grid();
        grid.highs("p", 8L)[0][0] = 99;
        assertArrayEquals(new long[][] {{1, 2, 3}, {4, 5, 6}}, grid.highs("p", 8L));
        long none = CandidateGrid.NONE;
        long[][] nothing = {{none, none, none}, {none, none, none}};
        assertArrayEquals(nothing, grid.highs("p", 9L));
        assertArrayEquals(nothing, grid.highs("p", new byte[] {8}));
        assertArrayEquals(new long[] {5, 6}, grid.starts("p")[2]);
        assertNull(grid.starts("q"));
    }

    @Test
    @DisplayName("counts of tasks add up by partition, and a copy keeps its own")
    void accumulated() throws IOException {
        var total = new CandidateAccumulator();
        assertTrue(total.isZero());
        long[] ofTask = {1, 2};
        total.add(Map.of("p", ofTask));
        var copy = total.copy();
        var other = new CandidateAccumulator();
        other.add(Map.of("p", new long[] {3, 4}, "q", new long[] {5, 6}));
        total.merge(other);
        assertArrayEquals(new long[] {4, 6}, total.value().get("p"));
        assertArrayEquals(new long[] {5, 6}, total.value().get("q"));
        assertEquals("{\"p\":[1,2]}", copy.json());
        assertArrayEquals(new long[] {1, 2}, ofTask);
        total.reset();
        assertTrue(total.isZero());
    }
}
