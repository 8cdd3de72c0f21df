package tidemark.text;

import java.time.LocalDate;

/**
 * Times and days as most writers write them, read from bytes: 2026-01-31, or that with T or a blank, 08:09:10, up to
 * six digits of a second and Z, an offset of whole minutes, or nothing, which is UTC. Of all else it tells nothing.
 */
final class IsoTimeParser {
    private static final int DATE = 10;
    private static final int SECONDS = 19;
    private static final int MOST_DIGITS = 6;
    private static final int OFFSET = 6;
    private static final int MOST_HOURS = 17;
    private static final long SECOND = 1000000L;
    private static final long DAY = 86400 * SECOND;
    private static final int NO = -1;
    private static final int[] DAYS = new int[] {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    private int lastDate = NO;
    private int lastDay;

    /** Days since 1970, or null. */
    Integer date(byte[] line, int from, int to) {
        return to - from == DATE && isDay(line, from) ? Integer.valueOf(this.lastDay) : null;
    }

    /** Microseconds since 1970 UTC, or null. */
    Long timestamp(byte[] line, int from, int to) {
        if (to - from < SECONDS || !isDay(line, from) || (line[from + DATE] != 'T' && line[from + DATE] != ' ')) {
            return null;
        }
        int hour = two(line, from + DATE + 1, 23);
        int minute = two(line, from + DATE + 4, 59);
        int second = two(line, from + DATE + 7, 59);
        boolean apart = line[from + DATE + 3] == ':' && line[from + DATE + 6] == ':';
        if (!apart || hour < 0 || minute < 0 || second < 0) {
            return null;
        }
        long micros = this.lastDay * DAY + ((hour * 60 + minute) * 60 + second) * SECOND;
        int at = from + SECONDS;
        if (at < to && line[at] == '.') {
            int first = at + 1;
            long unit = SECOND;
            for (at = first; at < to && isDigit(line[at]) && at - first < MOST_DIGITS; at++) {
                unit /= 10;
                micros += (line[at] - '0') * unit;
            }
            if (at == first) {
                return null;
            }
        }
        return zoned(line, at, to, micros);
    }

    private static Long zoned(byte[] line, int at, int to, long micros) {
        if (at == to || (at + 1 == to && line[at] == 'Z')) {
            return Long.valueOf(micros);
        }
        if (to - at != OFFSET || (line[at] != '+' && line[at] != '-') || line[at + 3] != ':') {
            return null;
        }
        int hours = two(line, at + 1, MOST_HOURS);
        int minutes = two(line, at + 4, 59);
        if (hours < 0 || minutes < 0) {
            return null;
        }
        long ahead = (hours * 60 + minutes) * 60 * SECOND;
        return Long.valueOf(line[at] == '+' ? micros - ahead : micros + ahead);
    }

    /** Whether a day begins here, of the years 1 to 9999; it is the last one then. */
    private boolean isDay(byte[] line, int from) {
        int century = two(line, from, 99);
        int year = two(line, from + 2, 99);
        int month = two(line, from + 5, 12);
        int day = two(line, from + 8, 31);
        boolean digits = century >= 0 && year >= 0 && month > 0 && day > 0;
        if (!digits || line[from + 4] != '-' || line[from + 7] != '-') {
            return false;
        }
        int date = ((century * 100 + year) * 100 + month) * 100 + day;
        return date == this.lastDate || isDay(century * 100 + year, month, day, date);
    }

    private boolean isDay(int year, int month, int day, int date) {
        boolean leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        if (year == 0 || day > (month == 2 && leap ? 29 : DAYS[month - 1])) {
            return false;
        }
        this.lastDay = (int) LocalDate.of(year, month, day).toEpochDay();
        this.lastDate = date;
        return true;
    }

    /** The number that two digits make, at most `most`; else -1. */
    private static int two(byte[] line, int at, int most) {
        if (!isDigit(line[at]) || !isDigit(line[at + 1])) {
            return NO;
        }
        int found = (line[at] - '0') * 10 + line[at + 1] - '0';
        return found <= most ? found : NO;
    }

    private static boolean isDigit(int each) {
        return each >= '0' && each <= '9';
    }
}
