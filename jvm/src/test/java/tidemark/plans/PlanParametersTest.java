package tidemark.plans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class PlanParametersTest {
    private static UTF8String text(String text) {
        return UTF8String.fromString(text);
    }

    @Test
    @DisplayName("objects are found by each of their paths and by their number, until others are set")
    void objects() throws IOException {
        var lookup = new ObjectLookup();
        lookup.set("[7, [[\"s3://b/a\", 5, null, [\"a\"]], [\"s3://b/b\", 6, \"p\", [\"b\", \"file:b\"]]]]");
        for (String path : new String[] {"b", "file:b", "b", "a", "b"}) {
            boolean isFirst = path.equals("a");
            assertEquals(isFirst ? 0 : 1, lookup.byPath(text(path)).getInt(0));
            assertEquals(isFirst ? 5 : 6, lookup.byPath(text(path)).getLong(1));
            assertEquals(isFirst ? null : text("p"), lookup.byPath(text(path)).getUTF8String(2));
        }
        assertEquals(text("s3://b/b"), lookup.byNumber(1).getUTF8String(0));
        assertEquals(7, lookup.byNumber(1).getLong(1));
        lookup.set("[8, [[\"s3://b/c\", 5, null, [\"c\"]]]]");
        assertEquals(8, lookup.byNumber(0).getLong(1));
        assertThrows(IllegalStateException.class, () -> lookup.byPath(text("a")));
    }

    @Test
    @DisplayName("partitions without a task of their own keep the one by their name")
    void tasks() throws IOException {
        var tasks = new PlanTasks();
        tasks.set("{\"hot\": 3}");
        assertEquals(3, tasks.task(text("hot"), 1));
        assertEquals(1, tasks.task(text("cold"), 1));
        tasks.set("{}");
        assertEquals(1, tasks.task(text("hot"), 1));
    }

    @Test
    @DisplayName("a number may be of any integer type, or none")
    void numbers() {
        var number = new PlanNumber();
        assertNull(number.number());
        number.set(5);
        assertEquals(5L, number.number(0));
        number.set(null);
        assertNull(number.number(0));
    }
}
