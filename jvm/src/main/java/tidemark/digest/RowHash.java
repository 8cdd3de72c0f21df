package tidemark.digest;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/** The 128 bits of a row's content from which the digest of a table is made, in its second version (docs/digest.md). */
public final class RowHash implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final String GIVES = "high BIGINT NOT NULL, low BIGINT NOT NULL";

    private final ValueEncoding form;
    private final long[] seeds;
    private transient ByteWriter bytes;

    private RowHash(ValueEncoding form) {
        this.form = form;
        byte[] name = form.name.getBytes(StandardCharsets.UTF_8);
        this.seeds = new long[] {0L, 1L};
        Xxh64.hash(name, name.length, this.seeds);
    }

    /** As a column of a struct, whose type is given as JSON and whose fields are in the order of their names. */
    public static Column function(Seq row, String type) {
        RowHash hash = new RowHash(ValueEncoding.of((StructType) DataType.fromJson(type)));
        return Invoked.plain(hash, "call", DataType.fromDDL(GIVES), row);
    }

    public InternalRow call(InternalRow row) {
        if (this.bytes == null) {
            this.bytes = new ByteWriter();
        }
        this.bytes.clear();
        this.form.putAll(row, this.bytes);
        long[] hashes = new long[] {this.seeds[0], this.seeds[1]};
        Xxh64.hash(this.bytes.written, this.bytes.size, hashes);
        return new GenericInternalRow(new Object[] {Long.valueOf(hashes[0]), Long.valueOf(hashes[1])});
    }
}
