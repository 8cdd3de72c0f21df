package tidemark.text;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/**
 * Cuts an object's CSV into records, each the text that the object has for it, in the order of the object: at line ends,
 * but for those within a value that begins with a quote. Comments, blank lines and the header are no records. A quote
 * that is never closed makes the rest of the object one record, which does not parse.
 */
public final class CsvRecords implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final byte[] MARK = new byte[] {(byte) 0xef, (byte) 0xbb, (byte) 0xbf};

    private final byte[] sep;
    private final byte[] quote;
    private final byte[] escape;
    private final byte[] comment;
    private final boolean header;
    private final boolean blanks;
    private final String whole;

    private CsvRecords(String[] signs, boolean header, boolean blanks, String whole) {
        this.sep = signs[0].getBytes(StandardCharsets.UTF_8);
        this.quote = signs[1].getBytes(StandardCharsets.UTF_8);
        this.escape = signs[2].getBytes(StandardCharsets.UTF_8);
        this.comment = signs[3].getBytes(StandardCharsets.UTF_8);
        this.header = header;
        this.blanks = blanks;
        this.whole = whole;
    }

    /**
     * As a column of texts, from the object's content and path. `signs` are what separates values, the quote, what
     * escapes it, and what a comment begins with (each may be empty but the first); `blanks` says whether those before
     * a quote are none of the value. `whole` is what the text begins with that stands for an object that is not read.
     */
    public static Column function(Seq object, Seq signs, boolean header, boolean blanks, String whole) {
        CsvRecords made = new CsvRecords(JsonDocuments.texts(signs), header, blanks, whole);
        return Invoked.inTurn(made, "rows", DataTypes.createArrayType(DataTypes.StringType, false), object);
    }

    public Object rows(byte[] packed, UTF8String path) throws IOException {
        byte[] content = Decompression.of(packed, path);
        if (content == null) {
            String large = this.whole + "CSV whose rows span lines is read whole, and it has more than "
                + Decompression.MOST + " bytes";
            return new GenericArrayData(new Object[] {UTF8String.fromString(large)});
        }
        List found = new ArrayList();
        boolean named = !this.header;
        int at = is(MARK, content, 0) ? MARK.length : 0;
        while (at < content.length) {
            boolean remark = this.comment.length > 0 && is(this.comment, content, at);
            int end = remark ? lineEnd(content, at) : recordEnd(content, at);
            if (!remark && !isBlank(content, at, end)) {
                if (named) {
                    found.add(UTF8String.fromBytes(content, at, end - at));
                }
                named = true;
            }
            at = end + (end + 1 < content.length && content[end] == '\r' && content[end + 1] == '\n' ? 2 : 1);
        }
        return new GenericArrayData(found.toArray());
    }

    private int recordEnd(byte[] content, int from) {
        int at = from;
        while (at < content.length) {
            int mark = this.blanks ? filled(content, at) : at;
            at = this.quote.length > 0 && is(this.quote, content, mark) ? closed(content, mark + this.quote.length) : at;
            while (at < content.length && !isLineEnd(content[at]) && !is(this.sep, content, at)) {
                at++;
            }
            if (at >= content.length || isLineEnd(content[at])) {
                return Math.min(at, content.length);
            }
            at += this.sep.length;
        }
        return content.length;
    }

    /** After the quote that closes a value, or where the object ends. */
    private int closed(byte[] content, int from) {
        boolean doubled = java.util.Arrays.equals(this.quote, this.escape);
        int at = from;
        while (at < content.length) {
            boolean quoted = is(this.quote, content, at);
            if (quoted && !(doubled && is(this.quote, content, at + this.quote.length))) {
                return at + this.quote.length;
            }
            boolean escaped = this.escape.length > 0 && is(this.escape, content, at);
            at += escaped ? this.escape.length + (doubled ? this.quote.length : 1) : 1;
        }
        return content.length;
    }

    private int filled(byte[] content, int from) {
        int at = from;
        while (at < content.length && content[at] >= 0 && content[at] <= ' '
                && !isLineEnd(content[at]) && !is(this.sep, content, at)) {
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

    private static boolean is(byte[] sign, byte[] content, int at) {
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
