package tidemark.text;

import java.time.LocalDate;

/**
 * Parses the common forms of ISO 8601 dates and times from bytes: 2026-01-31, or that with T or a blank, 08:09:10, up
 * to six digits of a second, and Z, an offset of whole minutes, or nothing, which is UTC. Of any other text it
 * returns null.
 */
final class IsoTimeParser {
    private static final int DATE_LENGTH = 10;
    private static final int SECONDS_LENGTH = 19;
    private static final int MOST_DIGITS = 6;
    private static final int OFFSET_LENGTH = 6;
    private static final int MOST_OFFSET_HOURS = 17;
    private static final long SECOND = 1_000_000L;
    private static final long DAY = 86_400 * SECOND;
    private static final int NONE = -1;
    private static final int[] DAYS_OF_MONTH = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    /** The date parsed last, as year, month and day in one decimal number, and its days since 1970. */
    private int lastDate = NONE;
    private int lastDay;

    /** Returns the days since 1970 of the text between two offsets, or null. */
    Integer parseDate(byte[] line, int from, int to) {
        return to - from == DATE_LENGTH && readDay(line, from) ? this.lastDay : null;
    }

    /** Returns the microseconds since 1970 UTC of the text between two offsets, or null. */
    Long parseTimestamp(byte[] line, int from, int to) {
        if (to - from < SECONDS_LENGTH || !readDay(line, from)) {
            return null;
        }
        int time = from + DATE_LENGTH;
        if (line[time] != 'T' && line[time] != ' ') {
            return null;
        }
        int hour = twoDigits(line, time + 1, 23);
        int minute = twoDigits(line, time + 4, 59);
        int second = twoDigits(line, time + 7, 59);
        boolean apart = line[time + 3] == ':' && line[time + 6] == ':';
        if (!apart || hour < 0 || minute < 0 || second < 0) {
            return null;
        }
        long micros = this.lastDay * DAY + ((hour * 60 + minute) * 60 + second) * SECOND;
        int at = from + SECONDS_LENGTH;
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
        return inUtc(line, at, to, micros);
    }

    /** Returns the microseconds in UTC of a local time, by the offset that is written from here on. */
    private static Long inUtc(byte[] line, int at, int to, long micros) {
        if (at == to || (at + 1 == to && line[at] == 'Z')) {
            return micros;
        }
        if (to - at != OFFSET_LENGTH || (line[at] != '+' && line[at] != '-') || line[at + 3] != ':') {
            return null;
        }
        int hours = twoDigits(line, at + 1, MOST_OFFSET_HOURS);
        int minutes = twoDigits(line, at + 4, 59);
        if (hours < 0 || minutes < 0) {
            return null;
        }
        long ahead = (hours * 60 + minutes) * 60 * SECOND;
        return line[at] == '+' ? micros - ahead : micros + ahead;
    }

    /** Reads the day here into `lastDay`, and returns true, if it is one of the years 1 to 9999. */
    private boolean readDay(byte[] line, int from) {
        int century = twoDigits(line, from, 99);
        int year = twoDigits(line, from + 2, 99);
        int month = twoDigits(line, from + 5, 12);
        int day = twoDigits(line, from + 8, 31);
        boolean digits = century >= 0 && year >= 0 && month > 0 && day > 0;
        if (!digits || line[from + 4] != '-' || line[from + 7] != '-') {
            return false;
        }
        int date = ((century * 100 + year) * 100 + month) * 100 + day;
        return date == this.lastDate || keepDay(century * 100 + year, month, day, date);
    }

    private boolean keepDay(int year, int month, int day, int date) {
        boolean leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        if (year == 0 || day > (month == 2 && leap ? 29 : DAYS_OF_MONTH[month - 1])) {
            return false;
        }
        this.lastDay = (int) LocalDate.of(year, month, day).toEpochDay();
        this.lastDate = date;
        return true;
    }

    /** Returns the number that two digits make if it is at most `most`, else -1. */
    private static int twoDigits(byte[] line, int at, int most) {
        if (!isDigit(line[at]) || !isDigit(line[at + 1])) {
            return NONE;
        }
        int found = (line[at] - '0') * 10 + line[at + 1] - '0';
        return found <= most ? found : NONE;
    }

    private static boolean isDigit(int each) {
        return each >= '0' && each <= '9';
    }
}
