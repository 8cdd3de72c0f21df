package tidemark.text;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class CsvRecordsTest {
    private static final CsvRecords DEFAULT = records(List.of(",", "\"", "\\", ""), false, false);

    private static CsvRecords records(List<String> signs, boolean header, boolean blanks) {
        return new CsvRecords(signs, header, blanks, "unreadable: ");
    }

    private static List<String> split(CsvRecords records, String content) throws IOException {
        byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
        Object[] rows = records.rows(bytes, UTF8String.fromString("a.csv")).toObjectArray(DataTypes.StringType);
        return Arrays.stream(rows).map(Object::toString).toList();
    }

    @Test
    @DisplayName("records end at line feeds, carriage returns or both, and at the end of the object")
    void lineEnds() throws IOException {
        assertEquals(List.of("a,1", "b,2", "c,3", "d,4"), split(DEFAULT, "a,1\nb,2\r\nc,3\rd,4"));
        assertEquals(List.of("a", "b"), split(DEFAULT, "a\nb\n"));
        assertEquals(List.of(), split(DEFAULT, ""));
    }

    @Test
    @DisplayName("line ends within quotes belong to the value, and separators, too")
    void quotes() throws IOException {
        assertEquals(List.of("a,\"1\n2\r\n3,\",x", "b"), split(DEFAULT, "a,\"1\n2\r\n3,\",x\nb"));
        assertEquals(List.of("a,\"\"", "b"), split(DEFAULT, "a,\"\"\nb"));
    }

    @Test
    @DisplayName("a quote within a value that begins without one is no quote")
    void quotesWithinValues() throws IOException {
        assertEquals(List.of("a\"", "b\""), split(DEFAULT, "a\"\nb\""));
        assertEquals(List.of("a,1\"", "b\",c"), split(DEFAULT, "a,1\"\nb\",c"));
    }

    @Test
    @DisplayName("a quote is escaped by the escape, or by another quote if that is the escape")
    void escapes() throws IOException {
        assertEquals(List.of("\"a\\\"\n\"", "b"), split(DEFAULT, "\"a\\\"\n\"\nb"));
        CsvRecords doubling = records(List.of(",", "\"", "\"", ""), false, false);
        assertEquals(List.of("\"a\"\"\n\"\"\"", "b"), split(doubling, "\"a\"\"\n\"\"\"\nb"));
        CsvRecords unquoted = records(List.of(",", "", "", ""), false, false);
        assertEquals(List.of("\"a", "b\""), split(unquoted, "\"a\nb\""));
    }

    @Test
    @DisplayName("a quote that is never closed makes the rest one record")
    void unclosedQuote() throws IOException {
        assertEquals(List.of("a", "b,\"c\nd\ne\n"), split(DEFAULT, "a\nb,\"c\nd\ne\n"));
        assertEquals(List.of("\"a\\"), split(DEFAULT, "\"a\\"));
    }

    @Test
    @DisplayName("blanks before a quote are skipped only if the settings say so")
    void blanksBeforeQuotes() throws IOException {
        CsvRecords skipping = records(List.of(",", "\"", "\\", ""), false, true);
        assertEquals(List.of("a, \t\"1\n2\"", "b"), split(skipping, "a, \t\"1\n2\"\nb"));
        assertEquals(List.of("a, \"1", "2\"", "b"), split(DEFAULT, "a, \"1\n2\"\nb"));
        assertEquals(List.of("a, ", "\"1\n2\""), split(skipping, "a, \n\"1\n2\""));
    }

    @Test
    @DisplayName("the header, blank lines, comments and a byte order mark are no records")
    void noRecords() throws IOException {
        CsvRecords headed = records(List.of(",", "\"", "\\", "#"), true, false);
        assertEquals(List.of("a", "b"), split(headed, "\ufeff#\"x\n\n \t\n\"name\n\"\r\n\r\na\n#y\nb"));
        assertEquals(List.of(), split(headed, "name"));
        assertEquals(List.of("#y"), split(DEFAULT, "#y"));
    }

    @Test
    @DisplayName("separators and quotes may have several bytes")
    void longSigns() throws IOException {
        CsvRecords records = records(List.of("||", "\u00a7", "\\", ""), false, false);
        List<String> expected = List.of("a||\u00a71\n2\u00a7", "b|\u00a7", "c");
        assertEquals(expected, split(records, "a||\u00a71\n2\u00a7\nb|\u00a7\nc"));
    }
}
