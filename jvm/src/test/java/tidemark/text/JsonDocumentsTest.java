package tidemark.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import scala.collection.immutable.Map$;

class JsonDocumentsTest {
    private static List<String> split(byte[] content, String... members) throws IOException {
        var documents = new JsonDocuments(members, Map$.MODULE$.empty(), "UNREADABLE: ", "REST: ");
        Object[] rows = documents.rows(content, UTF8String.fromString("a.json")).toObjectArray(DataTypes.StringType);
        return Arrays.stream(rows).map(row -> row.toString().replace('"', '\'')).toList();
    }

    private static List<String> split(String content) throws IOException {
        return below(content, (String[]) null);
    }

    /** Contents and rows of these tests have single quotes where JSON has double ones. */
    private static List<String> below(String content, String... members) throws IOException {
        return split(content.replace('\'', '"').getBytes(StandardCharsets.UTF_8), members);
    }

    @Test
    @DisplayName("each document is a row with its own text, and each element of an array")
    void documents() throws IOException {
        assertEquals(
            List.of("{'a': [1,\n 2]}", "{}", "3", "'\u00e9'"),
            split("{'a': [1,\n 2]} {}\n[ 3 , '\u00e9'\n]\n"));
        assertEquals(List.of("[1]"), split("[[1]]"));
        assertEquals(List.of(), split(" [] \n"));
    }

    @Test
    @DisplayName("with members, the elements of the array below them are the rows of each document")
    void members() throws IOException {
        String document = "{'n':[0],'a':{'x':[9],'b':[{'c':1}, 2 ]}}";
        assertEquals(List.of("{'c':1}", "2", "{'c':1}", "2"), below(document + document, "a", "b"));
        assertEquals(List.of("1", "2"), below("{'a':[1],'a':[2]}", "a"));
        assertEquals(List.of("1"), below("[1]"));
    }

    @Test
    @DisplayName("a document without the array of rows is not read, nor what follows")
    void missingArray() throws IOException {
        assertEquals(
            List.of("1", "REST: it has no member a.b (line 1, column 28)\n{'a':{}} {}"),
            below("{'a':{'b':[1]}}    {'a':{}} {}", "a", "b"));
        assertEquals(
            List.of("UNREADABLE: where the array of rows is to be, it has none (line 1, column 8)\n{'a': 1}"),
            below("{'a': 1}", "a"));
        assertEquals(1, below("[1]", "a").size());
    }

    @Test
    @DisplayName("a document that is cut short gives no row, and its text with the reason")
    void cutShort() throws IOException {
        List<String> rows = split("{'a':1}\n[{'a':2},{'a':3}");
        assertEquals(2, rows.size());
        assertEquals("{'a':1}", rows.get(0));
        assertEquals(
            "REST: Unexpected end-of-input: expected close marker for Array (line 2, column 17)\n"
                + "[{'a':2},{'a':3}",
            rows.get(1));
    }

    @Test
    @DisplayName("what follows the last document and is no JSON is a text with the reason")
    void garbage() throws IOException {
        List<String> rows = split("[1]\n]x");
        assertEquals("1", rows.get(0));
        assertEquals("REST: Unexpected close marker", rows.get(1).substring(0, 29));
        assertTrue(rows.get(1).endsWith("\n]x"), rows.get(1));
        assertEquals("UNREADABLE", split("x").get(0).split(":")[0]);
    }

    @Test
    @DisplayName("documents in another encoding than UTF-8 are not read; a byte order mark is no part of the first")
    void encodings() throws IOException {
        String text = split("[1]".getBytes(StandardCharsets.UTF_16LE), (String[]) null).get(0);
        assertEquals("UNREADABLE: it is no UTF-8", text.split(" \\(line")[0]);
        assertEquals(List.of("1"), split("\ufeff1"));
    }

    @Test
    @DisplayName("of a rest, a MiB is shown")
    void longRest() throws IOException {
        String text = split("x".repeat(2_000_000)).get(0);
        assertEquals(1 << 20, text.length() - text.indexOf('\n') - 1);
    }
}
