package tidemark.text;

import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Scans the bytes of a JSON line once for signs that it needs a slower check, one bit for each sign. The bits are
 * those of the Python class `LineScan`.
 */
public final class LineScan implements UDF1<byte[], Integer> {
    private static final long serialVersionUID = 1L;

    /** The line has more than white space. */
    static final int FILLED = 1;
    /** The first closing brace is not the last byte but for blanks, or is missing. */
    static final int EARLY = 1 << 1;
    /** A value may be invalid although Spark's parser accepts it. */
    static final int DUBIOUS = 1 << 2;
    /** The line is not UTF-8. */
    static final int INVALID = 1 << 3;

    /** Digits from which on a number of seconds may be too large for a timestamp. */
    private static final int LONG_NUMBER = 14;

    /** Returns the scan as a function of one BINARY column without nulls. */
    public static UserDefinedFunction function() {
        return functions.udf(new LineScan(), DataTypes.IntegerType);
    }

    /** Returns the bits of a line, which is not null. */
    @Override
    public Integer call(byte[] line) {
        return scan(line);
    }

    static int scan(byte[] line) {
        int brace = -1;
        int last = -1;
        int digits = 0;
        int found = 0;
        boolean nonAscii = false;
        for (int at = 0; at < line.length; at++) {
            byte each = line[at];
            nonAscii |= each < 0;
            last = each == ' ' ? last : at;
            brace = brace < 0 && each == '}' ? at : brace;
            digits = isDigit(each) ? digits + 1 : 0;
            if (digits == LONG_NUMBER || ((each == '"' || each == '\'') && isDubious(line, at + 1))) {
                found |= DUBIOUS;
            }
            if (each != ' ' && (each < '\t' || each > '\r')) {
                found |= FILLED;
            }
        }
        found |= brace < last ? EARLY : 0;
        return nonAscii && !UTF8String.fromBytes(line).isValid() ? found | INVALID : found;
    }

    /**
     * Returns true if the text after a quote begins, behind characters that parsers skip, with an escape or with what
     * may be a time of day without a date.
     */
    private static boolean isDubious(byte[] line, int from) {
        int at = from;
        while (at < line.length && skipped(line, at) > 0) {
            at += skipped(line, at);
        }
        int first = byteAt(line, at);
        int second = byteAt(line, at + 1);
        if (first == '\\') {
            return true;
        }
        if (first == 'T') {
            return isDigit(second) || second == '\\';
        }
        int after = isDigit(second) ? byteAt(line, at + 2) : second;
        return isDigit(first) && (after == ':' || after == '\\');
    }

    /** Returns the number of bytes of the blank or control character here, 0 if another character is here. */
    private static int skipped(byte[] line, int at) {
        int each = line[at];
        if ((each >= 0 && each <= ' ') || each == 0x7f) {
            return 1;
        }
        int second = byteAt(line, at + 1) & 0xff;
        return (each & 0xff) == 0xc2 && second >= 0x80 && second <= 0x9f ? 2 : 0;
    }

    private static int byteAt(byte[] line, int at) {
        return at < line.length ? line[at] : 0;
    }

    private static boolean isDigit(int each) {
        return each >= '0' && each <= '9';
    }
}
