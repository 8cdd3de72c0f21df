package tidemark.digest;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/** The hash of a key of several values as 16 bytes: that of a row which has these values. */
public final class KeyHash {
    private KeyHash() {
    }

    /** Returns the hash as a column, the high half first. The arguments are those of `RowHash.function`. */
    public static Column function(Seq<Column> row, String type) {
        RowHash hash = new RowHash((StructType) DataType.fromJson(type));
        return Invoked.plain(hash, "bytesOf", DataTypes.BinaryType, row);
    }
}
