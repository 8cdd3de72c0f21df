package tidemark.text;

import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What one look at the bytes of a JSON line tells, one thing a bit, so that what takes longer is asked of few lines.
 * The bits are those of the Python side's `LineScan`.
 */
public final class LineScan implements UDF1 {
    private static final long serialVersionUID = 1L;

    private static final int FILLED = 1;
    private static final int EARLY = 1 << 1;
    private static final int DUBIOUS = 1 << 2;
    private static final int INVALID = 1 << 3;
    private static final int LONG_NUMBER = 14;

    /** As a column function of a line's bytes. */
    public static UserDefinedFunction function() {
        return functions.udf((UDF1) new LineScan(), DataTypes.IntegerType);
    }

    public Object call(Object line) {
        return Integer.valueOf(of((byte[]) line));
    }

    private static int of(byte[] line) {
        int brace = -1;
        int last = -1;
        int digits = 0;
        int found = 0;
        boolean wide = false;
        for (int at = 0; at < line.length; at++) {
            byte each = line[at];
            wide |= each < 0;
            last = each == ' ' ? last : at;
            brace = brace < 0 && each == '}' ? at : brace;
            digits = isDigit(each) ? digits + 1 : 0;
            if (digits == LONG_NUMBER || ((each == '"' || each == '\'') && dubious(line, at + 1))) {
                found |= DUBIOUS;
            }
            if (each != ' ' && (each < '\t' || each > '\r')) {
                found |= FILLED;
            }
        }
        found |= brace < last ? EARLY : 0;
        return wide && !UTF8String.fromBytes(line).isValid() ? found | INVALID : found;
    }

    /** After a quote and what parsers skip: an escape, or what may be a time of day without a date. */
    private static boolean dubious(byte[] line, int from) {
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

    /** How many bytes a blank or control character has here; 0: none is here. */
    private static int skipped(byte[] line, int at) {
        int each = line[at];
        if ((each >= 0 && each <= ' ') || each == 0x7f) {
            return 1;
        }
        int second = byteAt(line, at + 1) & 0xff;
        return (each & 0xff) == 0xc2 && second >= 0x80 && second <= 0x9f ? 2 : 0;
    }

    private static int byteAt(byte[] line, int at) {
        if (at < line.length) {
            return line[at];
        }
        return 0;
    }

    private static boolean isDigit(int each) {
        return each >= '0' && each <= '9';
    }
}
