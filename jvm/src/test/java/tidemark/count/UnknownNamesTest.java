package tidemark.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class UnknownNamesTest {
    private static void add(UnknownNames names, String text, int object) {
        names.add(UTF8String.fromString(text), object);
    }

    private static String name(int number) {
        return "n%03d".formatted(number);
    }

    @Test
    @DisplayName("a row counts once for each of its names, even one that it has twice")
    void rows() {
        UnknownNames names = new UnknownNames();
        assertNull(names.toList());
        add(names, "b\na", 4);
        add(names, "b\nb", 2);
        assertEquals(List.of(2L, 2, 4, List.of(List.of("a", 1L), List.of("b", 2L)), false), names.toList());
    }

    @Test
    @DisplayName("of more names than the limit the first are kept, with exact counts, in any order of rows")
    void limit() {
        UnknownNames full = new UnknownNames();
        UnknownNames half = new UnknownNames();
        UnknownNames rest = new UnknownNames();
        for (int row = 200; row > 0; row--) {
            String text = name(row) + "\n" + name(1 + row % UnknownNames.LIMIT);
            add(full, text, row);
            add(row % 2 == 0 ? half : rest, text, row);
        }
        half.merge(rest);
        assertEquals(full.toList(), half.toList());
        List<?> counts = (List<?>) full.toList().get(3);
        assertEquals(UnknownNames.LIMIT, counts.size());
        assertEquals(List.of(name(1), 11L), counts.get(0));
        assertEquals(true, full.toList().get(4));
        UnknownNames merged = new UnknownNames();
        merged.merge(full);
        assertEquals(full.toList(), merged.toList());
    }

    @Test
    @DisplayName("exactly as many names as the limit are all there are")
    void noMore() {
        UnknownNames names = new UnknownNames();
        for (int row = 0; row < UnknownNames.LIMIT; row++) {
            add(names, name(row), 0);
        }
        assertEquals(false, names.toList().get(4));
    }
}
