package tidemark.text;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class LineScanTest {
    private static final int EMPTY = 0;

    private static int scan(String line) {
        return LineScan.scan(line.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    @DisplayName("a line of white space is not filled")
    void filled() {
        assertEquals(EMPTY, scan(""));
        assertEquals(EMPTY, scan("    "));
        assertEquals(LineScan.FILLED, scan("{}") & LineScan.FILLED);
        assertEquals(0, scan(" \t\f\r") & LineScan.FILLED);
    }

    @Test
    @DisplayName("a brace that closes before the end of the line closes early")
    void early() {
        assertEquals(LineScan.FILLED, scan("{\"a\":1}  "));
        assertEquals(LineScan.FILLED | LineScan.EARLY, scan("{\"a\":1} {\"a\":2}"));
        assertEquals(LineScan.FILLED | LineScan.EARLY, scan("{\"a\":{}}"));
        assertEquals(LineScan.FILLED | LineScan.EARLY, scan("{"));
    }

    @Test
    @DisplayName("long numbers, escapes and times of day without a date are dubious")
    void dubious() {
        String[] dubious = {
            "12345678901234", "\"\\u0031\"", "\"12:30\"", "\"1:30\"", "'T1'", "\" \u0085\t9:\"", "\"1\\"
        };
        for (String value : dubious) {
            assertEquals(LineScan.FILLED | LineScan.DUBIOUS, scan("{" + value + "}"), value);
        }
        String[] sound = {
            "1234567890123.4", "\"a\\n\"", "\"123:4\"", "\"2026-01-31T12:30\"", "\"Tx\"", "\"\u00a09:\""
        };
        for (String value : sound) {
            assertEquals(LineScan.FILLED, scan("{" + value + "}"), value);
        }
    }

    @Test
    @DisplayName("bytes that are no UTF-8 are invalid")
    void invalid() {
        assertEquals(LineScan.FILLED, scan("{\"\u00e9\"}"));
        byte[] latin = "{\"\u00e9\"}".getBytes(StandardCharsets.ISO_8859_1);
        assertEquals(LineScan.FILLED | LineScan.INVALID, LineScan.scan(latin));
    }
}
