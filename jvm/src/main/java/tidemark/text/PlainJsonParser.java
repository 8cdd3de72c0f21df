package tidemark.text;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads lines of JSON that are plain, from their bytes, as Spark's parser reads them: one object, and each member in it
 * null or of its column's type as most writers write it. Of all else (escapes, members within members or of one name,
 * numbers with exponents or with more digits than are surely exact, times written otherwise) it says that the line is
 * not plain.
 */
final class PlainJsonParser {
    private static final int UNKNOWN = -1;
    private static final int NONE = -1;
    private static final int OTHER = 0;
    private static final int TEXT = 1;
    private static final int LONG = 2;
    private static final int INT = 3;
    private static final int DOUBLE = 4;
    private static final int BOOLEAN = 5;
    private static final int TIMESTAMP = 6;
    private static final int DATE = 7;
    private static final int MOST_DIGITS = 18;
    private static final long EXACT = 1L << 53;

    private static final byte[] NULL = new byte[] {'n', 'u', 'l', 'l'};
    private static final byte[] TRUE = new byte[] {'t', 'r', 'u', 'e'};
    private static final byte[] FALSE = new byte[] {'f', 'a', 'l', 's', 'e'};
    private static final double[] TENS = new double[MOST_DIGITS + 1];

    static {
        TENS[0] = 1;
        for (int power = 1; power < TENS.length; power++) {
            TENS[power] = TENS[power - 1] * 10;
        }
    }

    private final byte[][] names;
    private final int[] kinds;
    private final int told;
    private final int outside;
    private final MemberNames unknown = new MemberNames();
    private final Object[] values;
    private final boolean[] seen;
    private final InternalRow row;
    private final IsoTimeParser times = new IsoTimeParser();
    private byte[] line;
    private int end;
    private boolean wide;
    private int next;

    /**
     * Members of `schema` but for `flag`; `told` is the column that is true of a plain line, and `outside` (below 0:
     * there is none) that with the names of members that the schema lacks.
     */
    PlainJsonParser(StructType schema, int flag, int told, int outside) {
        StructField[] fields = schema.fields();
        this.names = new byte[fields.length][];
        this.kinds = new int[fields.length];
        for (int index = 0; index < fields.length; index++) {
            if (index != flag && index != told && index != outside) {
                this.names[index] = UTF8String.fromString(fields[index].name()).getBytes();
                this.kinds[index] = kindOf(fields[index]);
            }
        }
        this.told = told;
        this.outside = outside;
        this.values = new Object[fields.length];
        this.seen = new boolean[fields.length];
        this.row = new GenericInternalRow(this.values);
    }

    private static int kindOf(StructField field) {
        Object[] known = new Object[] {
            DataTypes.StringType, DataTypes.LongType, DataTypes.IntegerType, DataTypes.DoubleType,
            DataTypes.BooleanType, DataTypes.TimestampType, DataTypes.DateType
        };
        for (int index = 0; index < known.length; index++) {
            if (known[index].equals(field.dataType())) {
                return index + 1;
            }
        }
        return OTHER;
    }

    /** The row of a line, good until the next is read, or null if the line is not plain. */
    InternalRow read(byte[] bytes, int from, int to) {
        this.line = bytes;
        this.end = to;
        this.wide = false;
        this.next = 0;
        this.unknown.clear();
        Arrays.fill(this.values, null);
        Arrays.fill(this.seen, false);
        this.values[this.told] = Boolean.TRUE;
        if (from >= to || bytes[from] != '{') {
            return null;
        }
        int at = from;
        do {
            at = member(blanks(at + 1));
            if (at == NONE) {
                return null;
            }
            at = blanks(at);
        } while (byteAt(at) == ',');
        if (byteAt(at) != '}' || blanks(at + 1) != to) {
            return null;
        }
        if (this.wide && !UTF8String.fromBytes(bytes, from, to - from).isValid()) {
            return null;
        }
        if (this.outside >= 0) {
            this.values[this.outside] = this.unknown.text();
        }
        return this.row;
    }

    /** After the member that begins here. */
    private int member(int from) {
        int close = closing(from);
        if (close == NONE) {
            return NONE;
        }
        int column = columnOf(from + 1, close);
        if (column == UNKNOWN) {
            this.unknown.add(this.line, from + 1, close);
        }
        int colon = blanks(close + 1);
        if (byteAt(colon) != ':') {
            return NONE;
        }
        int at = blanks(colon + 1);
        int first = byteAt(at);
        if (first == '"') {
            return text(at, column);
        }
        return first == '-' || isDigit(first) ? number(at, column) : word(at, first, column);
    }

    /** The quote that closes the text whose first quote is here. */
    private int closing(int from) {
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
                this.wide = true;
            } else if (each == '\\') {
                return NONE;
            }
        }
        return NONE;
    }

    /** The column of a name: most often the one after that of the name before. */
    private int columnOf(int from, int to) {
        for (int tried = 0; tried < this.names.length; tried++) {
            int index = this.next;
            this.next = index + 1 == this.names.length ? 0 : index + 1;
            if (isAt(this.names[index], from, to)) {
                return index;
            }
        }
        return UNKNOWN;
    }

    private int text(int from, int column) {
        int close = closing(from);
        if (close == NONE || column == UNKNOWN) {
            return close == NONE ? NONE : close + 1;
        }
        Object value = null;
        int kind = this.kinds[column];
        if (kind == TEXT) {
            value = UTF8String.fromBytes(this.line, from + 1, close - from - 1);
        } else if (kind == TIMESTAMP) {
            value = this.times.timestamp(this.line, from + 1, close);
        } else if (kind == DATE) {
            value = this.times.date(this.line, from + 1, close);
        }
        return value == null ? NONE : found(column, value, close + 1);
    }

    private int word(int from, int first, int column) {
        byte[] word = first == 'n' ? NULL : first == 't' ? TRUE : FALSE;
        int after = from + word.length;
        if (!isAt(word, from, Math.min(after, this.end))) {
            return NONE;
        }
        if (word == NULL || column == UNKNOWN) {
            return found(column, null, after);
        }
        return this.kinds[column] == BOOLEAN ? found(column, Boolean.valueOf(word == TRUE), after) : NONE;
    }

    private int number(int from, int column) {
        boolean minus = this.line[from] == '-';
        int begin = minus ? from + 1 : from;
        int at = begin;
        int point = NONE;
        long digits = 0;
        for (int each = byteAt(at); isDigit(each) || (each == '.' && point == NONE && at > begin); each = byteAt(at)) {
            if (each == '.') {
                point = at;
            } else {
                digits = digits * 10 + each - '0';
            }
            at++;
        }
        int whole = (point == NONE ? at : point) - begin;
        int broken = point == NONE ? 0 : at - point - 1;
        boolean strange = whole == 0 || (point != NONE && broken == 0) || (whole > 1 && this.line[begin] == '0');
        if (strange || whole + broken > MOST_DIGITS || !isEnd(byteAt(at))) {
            return NONE;
        }
        if (column == UNKNOWN) {
            return at;
        }
        Object value = point == NONE ? whole(this.kinds[column], minus ? -digits : digits) : null;
        if (point != NONE && this.kinds[column] == DOUBLE && digits < EXACT) {
            double real = digits / TENS[broken];
            value = Double.valueOf(minus ? -real : real);
        }
        return value == null ? NONE : found(column, value, at);
    }

    /** A whole number as its column has it; null: it can't be told, or there is no such double. */
    private static Object whole(int kind, long number) {
        if (kind == LONG) {
            return Long.valueOf(number);
        }
        if (kind == INT && number == (int) number) {
            return Integer.valueOf((int) number);
        }
        return kind == DOUBLE && (long) (double) number == number ? Double.valueOf((double) number) : null;
    }

    private int found(int column, Object value, int after) {
        if (column != UNKNOWN) {
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

    private int blanks(int from) {
        int at = from;
        while (at < this.end && isBlank(this.line[at])) {
            at++;
        }
        return at;
    }

    private int byteAt(int at) {
        if (at < this.end) {
            return this.line[at];
        }
        return 0;
    }

    private static boolean isBlank(int each) {
        return each == ' ' || each == '\t' || each == '\n' || each == '\r';
    }

    private static boolean isDigit(int each) {
        return each >= '0' && each <= '9';
    }

    /** Whether a word or number may end before this byte. */
    private static boolean isEnd(int each) {
        return each == ',' || each == '}' || isBlank(each);
    }
}
