package tidemark.text;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Parses plain JSON lines from their bytes, with the result of Spark's parser. A plain line is one object, and each
 * of its members is null or of its column's type as most writers write it. Lines with anything else (escapes, nested
 * members, a member twice, numbers with an exponent or with more digits than are surely exact, other forms of times)
 * are left to another parser.
 */
final class PlainJsonParser {
    private static final int NONE = -1;
    /** Most digits of a number, so that it fits 64 bits. */
    private static final int MOST_DIGITS = 18;
    /** Numbers below it are exact as a double. */
    private static final long EXACT = 1L << 53;

    private static final byte[] NULL = {'n', 'u', 'l', 'l'};
    private static final byte[] TRUE = {'t', 'r', 'u', 'e'};
    private static final byte[] FALSE = {'f', 'a', 'l', 's', 'e'};
    private static final double[] POWERS_OF_TEN = new double[MOST_DIGITS + 1];

    static {
        POWERS_OF_TEN[0] = 1;
        for (int power = 1; power < POWERS_OF_TEN.length; power++) {
            POWERS_OF_TEN[power] = POWERS_OF_TEN[power - 1] * 10;
        }
    }

    private final byte[][] names;
    private final Kind[] kinds;
    private final int plainColumn;
    private final int unknownColumn;
    private final MemberNames unknown = new MemberNames();
    private final Object[] values;
    private final boolean[] seen;
    private final InternalRow row;
    private final IsoTimeParser times = new IsoTimeParser();
    private byte[] line;
    private int end;
    private boolean nonAscii;
    /** The column that is looked at first for the next member: members mostly come in the order of columns. */
    private int expected;

    /** Types of columns that a plain line may have values of. */
    private enum Kind {
        TEXT(DataTypes.StringType),
        LONG(DataTypes.LongType),
        INT(DataTypes.IntegerType),
        DOUBLE(DataTypes.DoubleType),
        BOOLEAN(DataTypes.BooleanType),
        TIMESTAMP(DataTypes.TimestampType),
        DATE(DataTypes.DateType);

        private final DataType type;

        Kind(DataType type) {
            this.type = type;
        }

        /** Returns null if a plain line has no values of this type. */
        static Kind of(DataType type) {
            for (Kind kind : values()) {
                if (kind.type.equals(type)) {
                    return kind;
                }
            }
            return null;
        }
    }

    /**
     * Takes the columns of a line and the positions of those that are no members.
     *
     * @param schema all columns
     * @param corruptColumn position of the column for lines that do not parse, which is null
     * @param plainColumn position of the column that is true of a plain line
     * @param unknownColumn position of the column with the names of members that the schema lacks; below 0, there is
     *     none
     */
    PlainJsonParser(StructType schema, int corruptColumn, int plainColumn, int unknownColumn) {
        StructField[] fields = schema.fields();
        this.names = new byte[fields.length][];
        this.kinds = new Kind[fields.length];
        for (int index = 0; index < fields.length; index++) {
            if (index != corruptColumn && index != plainColumn && index != unknownColumn) {
                this.names[index] = UTF8String.fromString(fields[index].name()).getBytes();
                this.kinds[index] = Kind.of(fields[index].dataType());
            }
        }
        this.plainColumn = plainColumn;
        this.unknownColumn = unknownColumn;
        this.values = new Object[fields.length];
        this.seen = new boolean[fields.length];
        this.row = new GenericInternalRow(this.values);
    }

    /**
     * Returns the row of the line between two offsets, or null if the line is not plain. The row is reused for the
     * next line, and its text refers to `bytes`.
     */
    InternalRow parse(byte[] bytes, int from, int to) {
        this.line = bytes;
        this.end = to;
        this.nonAscii = false;
        this.expected = 0;
        this.unknown.clear();
        Arrays.fill(this.values, null);
        Arrays.fill(this.seen, false);
        this.values[this.plainColumn] = Boolean.TRUE;
        if (from >= to || bytes[from] != '{') {
            return null;
        }
        int at = from;
        do {
            at = readMember(afterBlanks(at + 1));
            if (at == NONE) {
                return null;
            }
            at = afterBlanks(at);
        } while (byteAt(at) == ',');
        if (byteAt(at) != '}' || afterBlanks(at + 1) != to) {
            return null;
        }
        if (this.nonAscii && !UTF8String.fromBytes(bytes, from, to - from).isValid()) {
            return null;
        }
        if (this.unknownColumn >= 0) {
            this.values[this.unknownColumn] = this.unknown.text();
        }
        return this.row;
    }

    // Methods that read return the offset behind what they have read, or NONE if it is not plain.

    private int readMember(int from) {
        int close = closingQuote(from);
        if (close == NONE) {
            return NONE;
        }
        int column = columnOf(from + 1, close);
        if (column == NONE) {
            this.unknown.add(this.line, from + 1, close);
        }
        int colon = afterBlanks(close + 1);
        if (byteAt(colon) != ':') {
            return NONE;
        }
        int at = afterBlanks(colon + 1);
        int first = byteAt(at);
        if (first == '"') {
            return readText(at, column);
        }
        return first == '-' || isDigit(first) ? readNumber(at, column) : readWord(at, first, column);
    }

    /** Returns the offset of the quote that closes the text whose first quote is here, or NONE. */
    private int closingQuote(int from) {
        if (byteAt(from) != '"') {
            return NONE;
        }
        byte[] bytes = this.line;
        for (int at = from + 1; at < this.end; at++) {
            int each = bytes[at];
            if (each == '"') {
                return at;
            }
            if (each < ' ') {
                if (each >= 0) {
                    return NONE;
                }
                this.nonAscii = true;
            } else if (each == '\\') {
                return NONE;
            }
        }
        return NONE;
    }

    /** Returns the column of a name, or NONE if the schema lacks it. */
    private int columnOf(int from, int to) {
        for (int tried = 0; tried < this.names.length; tried++) {
            int index = this.expected;
            this.expected = index + 1 == this.names.length ? 0 : index + 1;
            if (isAt(this.names[index], from, to)) {
                return index;
            }
        }
        return NONE;
    }

    private int readText(int from, int column) {
        int close = closingQuote(from);
        if (close == NONE || column == NONE) {
            return close == NONE ? NONE : close + 1;
        }
        Object value = null;
        Kind kind = this.kinds[column];
        if (kind == Kind.TEXT) {
            value = UTF8String.fromBytes(this.line, from + 1, close - from - 1);
        } else if (kind == Kind.TIMESTAMP) {
            value = this.times.parseTimestamp(this.line, from + 1, close);
        } else if (kind == Kind.DATE) {
            value = this.times.parseDate(this.line, from + 1, close);
        }
        return value == null ? NONE : keep(column, value, close + 1);
    }

    private int readWord(int from, int first, int column) {
        byte[] word = first == 'n' ? NULL : first == 't' ? TRUE : FALSE;
        int after = from + word.length;
        if (!isAt(word, from, Math.min(after, this.end))) {
            return NONE;
        }
        if (word == NULL || column == NONE) {
            return keep(column, null, after);
        }
        return this.kinds[column] == Kind.BOOLEAN ? keep(column, word == TRUE, after) : NONE;
    }

    private int readNumber(int from, int column) {
        boolean minus = this.line[from] == '-';
        int begin = minus ? from + 1 : from;
        int at = begin;
        int point = NONE;
        long digits = 0;
        int each = byteAt(at);
        while (isDigit(each) || (each == '.' && point == NONE && at > begin)) {
            if (each == '.') {
                point = at;
            } else {
                digits = digits * 10 + each - '0';
            }
            at++;
            each = byteAt(at);
        }
        int whole = (point == NONE ? at : point) - begin;
        int fraction = point == NONE ? 0 : at - point - 1;
        boolean malformed =
            whole == 0 || (point != NONE && fraction == 0) || (whole > 1 && this.line[begin] == '0');
        if (malformed || whole + fraction > MOST_DIGITS || !isEnd(each)) {
            return NONE;
        }
        if (column == NONE) {
            return at;
        }
        Object value = point == NONE
            ? wholeNumber(this.kinds[column], minus ? -digits : digits)
            : fraction(this.kinds[column], minus, digits, fraction);
        return value == null ? NONE : keep(column, value, at);
    }

    /** Returns a whole number as its column has it, or null if the column's type has no such number. */
    private static Object wholeNumber(Kind kind, long number) {
        if (kind == Kind.LONG) {
            return number;
        }
        if (kind == Kind.INT && number == (int) number) {
            return (int) number;
        }
        if (kind == Kind.DOUBLE && (long) (double) number == number) {
            return (double) number;
        }
        return null;
    }

    /** Returns a number with a fraction of so many digits, or null if it may not be exact or is no double. */
    private static Object fraction(Kind kind, boolean minus, long digits, int length) {
        if (kind != Kind.DOUBLE || digits >= EXACT) {
            return null;
        }
        double number = digits / POWERS_OF_TEN[length];
        return minus ? -number : number;
    }

    /** Sets a column to a value that ends here. A column that is set twice is not plain. */
    private int keep(int column, Object value, int after) {
        if (column != NONE) {
            if (this.seen[column]) {
                return NONE;
            }
            this.seen[column] = true;
            this.values[column] = value;
        }
        return isEnd(byteAt(after)) ? after : NONE;
    }

    private boolean isAt(byte[] word, int from, int to) {
        if (word == null || word.length != to - from) {
            return false;
        }
        for (int index = 0; index < word.length; index++) {
            if (word[index] != this.line[from + index]) {
                return false;
            }
        }
        return true;
    }

    private int afterBlanks(int from) {
        int at = from;
        while (at < this.end && isBlank(this.line[at])) {
            at++;
        }
        return at;
    }

    /** Returns the byte at an offset, 0 behind the end of the line. */
    private int byteAt(int at) {
        return at < this.end ? this.line[at] : 0;
    }

    private static boolean isBlank(int each) {
        return each == ' ' || each == '\t' || each == '\n' || each == '\r';
    }

    private static boolean isDigit(int each) {
        return each >= '0' && each <= '9';
    }

    /** Returns true if a word or number may end before this byte. */
    private static boolean isEnd(int each) {
        return each == ',' || each == '}' || isBlank(each);
    }
}
