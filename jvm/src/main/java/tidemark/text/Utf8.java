package tidemark.text;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/** Whether text is UTF-8, told eight bytes at a time where it is ASCII, as most text is. */
public final class Utf8 implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final long WIDE = 0x8080808080808080L;

    /** As a column of one of text. */
    public static Column function(Seq text) {
        return Invoked.plain(new Utf8(), "isValid", DataTypes.BooleanType, text);
    }

    public boolean equals(Object other) {
        return other instanceof Utf8;
    }

    public int hashCode() {
        return 1;
    }

    public boolean isValid(UTF8String text) {
        Object bytes = text.getBaseObject();
        long at = text.getBaseOffset();
        long end = at + text.numBytes();
        for (; at + 8 <= end; at += 8) {
            if ((Platform.getLong(bytes, at) & WIDE) != 0) {
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
