package tidemark.digest;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/** The 128-bit hash of a row, from which a table's digest of the second version is made (docs/digest.md). */
public final class RowHash implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final String RESULT = "high BIGINT NOT NULL, low BIGINT NOT NULL";

    private final ValueEncoding encoding;
    private final long[] seeds = {0L, 1L};
    private transient ByteWriter writer;

    /** Makes the hash of rows of a type. Raises IllegalArgumentException if a field's type has no digest. */
    RowHash(StructType type) {
        this.encoding = ValueEncoding.of(type);
        byte[] name = this.encoding.name().getBytes(StandardCharsets.UTF_8);
        Xxh64.hash(name, name.length, this.seeds);
    }

    /**
     * Returns the hash as a column: a struct of its two halves.
     *
     * @param row one column, a struct whose fields are in the order of their names
     * @param type the type of that struct as JSON
     */
    public static Column function(Seq<Column> row, String type) {
        RowHash hash = new RowHash((StructType) DataType.fromJson(type));
        return Invoked.plain(hash, "hash", DataType.fromDDL(RESULT), row);
    }

    /** Returns the high and the low half of a row's hash. The row is not null, its values may be. */
    public InternalRow hash(InternalRow row) {
        long[] halves = halvesOf(row);
        return new GenericInternalRow(new Object[] {halves[0], halves[1]});
    }

    /** Returns both halves of a row's hash as 16 bytes. */
    public byte[] bytesOf(InternalRow row) {
        long[] halves = halvesOf(row);
        return ByteBuffer.allocate(2 * Long.BYTES).putLong(halves[0]).putLong(halves[1]).array();
    }

    private long[] halvesOf(InternalRow row) {
        if (this.writer == null) {
            this.writer = new ByteWriter();
        }
        this.writer.clear();
        this.encoding.writeFields(row, this.writer);
        long[] halves = {this.seeds[0], this.seeds[1]};
        Xxh64.hash(this.writer.buffer(), this.writer.size(), halves);
        return halves;
    }
}
