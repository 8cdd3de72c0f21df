package tidemark.text;

import java.io.IOException;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;
import tidemark.plans.Scala;

/**
 * Splits an object's CSV into the texts of its records, in the order of the object: at line ends, but for those
 * within a value that begins with a quote. Comments, blank lines and the header are no records. A quote that is never
 * closed makes the rest of the object one record, which does not parse.
 */
public final class CsvRecords implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final byte[] BYTE_ORDER_MARK = {(byte) 0xef, (byte) 0xbb, (byte) 0xbf};

    private final byte[] separator;
    private final byte[] quote;
    private final byte[] escape;
    private final byte[] comment;
    private final boolean header;
    private final boolean blanks;
    private final String unreadable;

    /** Takes the settings of `function`. */
    CsvRecords(List<String> signs, boolean header, boolean blanks, String unreadable) {
        this.separator = signs.get(0).getBytes(StandardCharsets.UTF_8);
        this.quote = signs.get(1).getBytes(StandardCharsets.UTF_8);
        this.escape = signs.get(2).getBytes(StandardCharsets.UTF_8);
        this.comment = signs.get(3).getBytes(StandardCharsets.UTF_8);
        this.header = header;
        this.blanks = blanks;
        this.unreadable = unreadable;
    }

    /**
     * Returns the records as a column of arrays of text.
     *
     * @param object columns of an object's content and path
     * @param signs the separator of values, the quote, its escape, and the beginning of a comment; all but the first
     *     may be empty
     * @param header true if the first record is a header
     * @param blanks true if blanks before a quote do not belong to the value
     * @param unreadable beginning of the text that replaces an object that is not read
     */
    public static Column function(
            Seq<Column> object, Seq<String> signs, boolean header, boolean blanks, String unreadable) {
        var records = new CsvRecords(Scala.list(signs), header, blanks, unreadable);
        return Invoked.inTurn(records, "rows", DataTypes.createArrayType(DataTypes.StringType, false), object);
    }

    /**
     * Returns the records of an object; of one with too many bytes, one text that says so. Throws IOException if its
     * compression is damaged.
     */
    public ArrayData rows(byte[] stored, UTF8String path) throws IOException {
        byte[] content = Decompression.decompress(stored, path);
        if (content == null) {
            String reason = this.unreadable + "CSV whose rows span lines is read whole, and it has more than "
                + Decompression.MOST_BYTES + " bytes";
            return new GenericArrayData(new Object[] {UTF8String.fromString(reason)});
        }
        return new GenericArrayData(split(content).toArray());
    }

    private List<UTF8String> split(byte[] content) {
        List<UTF8String> records = new ArrayList<>();
        boolean headerSeen = !this.header;
        int at = isAt(BYTE_ORDER_MARK, content, 0) ? BYTE_ORDER_MARK.length : 0;
        while (at < content.length) {
            boolean remark = this.comment.length > 0 && isAt(this.comment, content, at);
            int end = remark ? lineEnd(content, at) : recordEnd(content, at);
            if (!remark && !isBlank(content, at, end)) {
                if (headerSeen) {
                    records.add(UTF8String.fromBytes(content, at, end - at));
                }
                headerSeen = true;
            }
            at = end + (end + 1 < content.length && content[end] == '\r' && content[end + 1] == '\n' ? 2 : 1);
        }
        return records;
    }

    private int recordEnd(byte[] content, int from) {
        int at = from;
        while (at < content.length) {
            int first = this.blanks ? afterBlanks(content, at) : at;
            if (this.quote.length > 0 && isAt(this.quote, content, first)) {
                at = afterQuoted(content, first + this.quote.length);
            }
            while (at < content.length && !isLineEnd(content[at]) && !isAt(this.separator, content, at)) {
                at++;
            }
            if (at >= content.length || isLineEnd(content[at])) {
                return Math.min(at, content.length);
            }
            at += this.separator.length;
        }
        return content.length;
    }

    /** Returns the place after the quote that closes a value, or the end of the object. */
    private int afterQuoted(byte[] content, int from) {
        boolean doubled = Arrays.equals(this.quote, this.escape);
        int at = from;
        while (at < content.length) {
            boolean quoted = isAt(this.quote, content, at);
            if (quoted && !(doubled && isAt(this.quote, content, at + this.quote.length))) {
                return at + this.quote.length;
            }
            boolean escaped = this.escape.length > 0 && isAt(this.escape, content, at);
            at += escaped ? this.escape.length + (doubled ? this.quote.length : 1) : 1;
        }
        return content.length;
    }

    private int afterBlanks(byte[] content, int from) {
        int at = from;
        while (at < content.length && content[at] >= 0 && content[at] <= ' '
                && !isLineEnd(content[at]) && !isAt(this.separator, content, at)) {
            at++;
        }
        return at;
    }

    private static int lineEnd(byte[] content, int from) {
        int at = from;
        while (at < content.length && !isLineEnd(content[at])) {
            at++;
        }
        return at;
    }

    private static boolean isBlank(byte[] content, int from, int to) {
        for (int at = from; at < to; at++) {
            if (content[at] < 0 || content[at] > ' ') {
                return false;
            }
        }
        return true;
    }

    private static boolean isLineEnd(byte each) {
        return each == '\n' || each == '\r';
    }

    private static boolean isAt(byte[] sign, byte[] content, int at) {
        if (at + sign.length > content.length) {
            return false;
        }
        for (int index = 0; index < sign.length; index++) {
            if (content[at + index] != sign[index]) {
                return false;
            }
        }
        return true;
    }
}
