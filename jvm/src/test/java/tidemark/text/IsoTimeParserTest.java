package tidemark.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class IsoTimeParserTest {
    private static final String TIME = "2026-01-31T08:09:10";

    private final IsoTimeParser parser = new IsoTimeParser();

    private Long timestamp(String text) {
        byte[] line = ("\"" + text + "\"").getBytes(StandardCharsets.UTF_8);
        return this.parser.parseTimestamp(line, 1, line.length - 1);
    }

    private Integer date(String text) {
        byte[] line = ("\"" + text + "\"").getBytes(StandardCharsets.UTF_8);
        return this.parser.parseDate(line, 1, line.length - 1);
    }

    private static long micros(String text) {
        Instant instant = Instant.parse(text);
        return instant.getEpochSecond() * 1_000_000 + instant.getNano() / 1_000;
    }

    @Test
    @DisplayName("a time has no fraction of a second or up to six digits")
    void fractions() {
        assertEquals(micros(TIME + "Z"), timestamp(TIME));
        for (int digits = 1; digits <= 6; digits++) {
            String fraction = ".123456".substring(0, digits + 1);
            assertEquals(micros(TIME + fraction + "Z"), timestamp(TIME + fraction));
            assertEquals(micros(TIME + fraction + "Z"), timestamp(TIME + fraction + "Z"));
        }
        assertNull(timestamp(TIME + ".1234567"));
        assertNull(timestamp(TIME + "."));
        assertNull(timestamp(TIME + ".Z"));
    }

    @Test
    @DisplayName("an offset is taken off, and one beyond 17:59 is left to another parser")
    void offsets() {
        assertEquals(micros("2026-01-31T06:39:10Z"), timestamp(TIME + "+01:30"));
        assertEquals(micros("2026-02-01T02:08:10.5Z"), timestamp(TIME + ".5-17:59"));
        String[] none = {"+18:00", "+01:60", "+01", "+0130", "+1:30", "*01:30", "+01:30:00", "z", "ZZ"};
        for (String offset : none) {
            assertNull(timestamp(TIME + offset), offset);
        }
    }

    @Test
    @DisplayName("a blank may separate date and time, and the epoch and times before it are counted")
    void places() {
        assertEquals(0, timestamp("1970-01-01 00:00:00"));
        assertEquals(micros("0001-01-01T00:00:00.000001Z"), timestamp("0001-01-01T00:00:00.000001"));
        assertEquals(micros("9999-12-31T23:59:59.999999Z"), timestamp("9999-12-31T23:59:59.999999"));
        assertNull(timestamp("2026-01-31_08:09:10"));
    }

    @Test
    @DisplayName("a wrong character at any place makes it no time and no date")
    void wrongCharacters() {
        for (int at = 0; at < TIME.length(); at++) {
            for (String wrong : new String[] {"x", "/", ";"}) {
                String text = TIME.substring(0, at) + wrong + TIME.substring(at + 1);
                assertNull(timestamp(text), text);
                assertNull(at < 10 ? date(text.substring(0, 10)) : null, text);
            }
            assertNull(timestamp(TIME.substring(0, at)));
        }
    }

    @Test
    @DisplayName("a number beyond its range makes it no time")
    void ranges() {
        for (String text : new String[] {"2026-01-31T24:00:00", "2026-01-31T08:60:00", "2026-01-31T08:09:60"}) {
            assertNull(timestamp(text), text);
        }
    }

    @Test
    @DisplayName("a date is a day of the calendar in the years 1 to 9999")
    void days() {
        for (String day : new String[] {"0001-01-01", "1969-12-31", "2000-02-29", "2024-02-29", "9999-12-31"}) {
            assertEquals(LocalDate.parse(day).toEpochDay(), date(day).longValue(), day);
        }
        String[] none = {
            "0000-01-01", "1900-02-29", "2026-02-29", "2024-02-30", "2026-04-31", "2026-00-01", "2026-13-01",
            "2026-01-00", "2026-01-32", "2026-1-01", "2026-01-01Z", "+2026-01-01", ""
        };
        for (String day : none) {
            assertNull(date(day), day);
        }
    }

    @Test
    @DisplayName("the date remembered of the text before does not stay")
    void memory() {
        assertEquals(0, date("1970-01-01"));
        assertEquals(0, date("1970-01-01"));
        assertNull(date("1970-02-30"));
        assertEquals(1, date("1970-01-02"));
        assertEquals(0, date("1970-01-01"));
    }
}
