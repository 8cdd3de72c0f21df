package tidemark.text;

import java.io.Serializable;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/** Checks that text is valid UTF-8. ASCII, as most text is, is checked eight bytes at a time. */
public record Utf8() implements Serializable {
    private static final long NON_ASCII = 0x8080808080808080L;

    /** Returns the check as a BOOLEAN column of one column of text. It is null where the text is null. */
    public static Column function(Seq<Column> text) {
        return Invoked.plain(new Utf8(), "isValid", DataTypes.BooleanType, text);
    }

    /** Returns true if the text, which is not null, is valid UTF-8. */
    public boolean isValid(UTF8String text) {
        Object bytes = text.getBaseObject();
        long at = text.getBaseOffset();
        long end = at + text.numBytes();
        for (; at + 8 <= end; at += 8) {
            if ((Platform.getLong(bytes, at) & NON_ASCII) != 0) {
                return text.isValid();
            }
        }
        for (; at < end; at++) {
            if (Platform.getByte(bytes, at) < 0) {
                return text.isValid();
            }
        }
        return true;
    }
}
