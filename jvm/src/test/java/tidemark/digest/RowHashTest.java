package tidemark.digest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.HexFormat;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Expected hashes are the test vectors of docs/digest.md, whose tables have one row. */
class RowHashTest {
    private static String hash(RowHash hash, Object... values) {
        InternalRow found = hash.hash(new GenericInternalRow(values));
        return String.format("%016x%016x", found.getLong(0), found.getLong(1));
    }

    private static RowHash of(String fields) {
        return new RowHash(StructType.fromDDL(fields));
    }

    @Test
    @DisplayName("hashes are the test vectors of the specification")
    void vectors() {
        assertEquals("51f9cdee65c4ad1ff1cd026da68767f1", hash(of("id BIGINT"), 1L));
        assertEquals("1eb42a87f87e3ce833c3327d07b72bb6", hash(of("id BIGINT"), (Object) null));
        assertEquals("b45759d5c1ecc252604bd2ef81ea46d9", hash(of("x DOUBLE"), -0.0));
        Object texts = new GenericArrayData(new Object[] {UTF8String.fromString("a"), null});
        assertEquals("20382d39b2ac54219b22a0b4fa4ef6f0", hash(of("a ARRAY<STRING>"), texts));
    }

    @Test
    @DisplayName("a row's hash depends on no row before it")
    void independent() {
        RowHash hash = of("id BIGINT");
        hash(hash, (Object) null);
        assertEquals("51f9cdee65c4ad1ff1cd026da68767f1", hash(hash, 1L));
        assertEquals("51f9cdee65c4ad1ff1cd026da68767f1", hash(hash, 1L));
    }

    @Test
    @DisplayName("a hash sent to another process gives equal hashes")
    void serializable() throws IOException, ClassNotFoundException {
        RowHash hash = of("id BIGINT");
        hash(hash, 2L);
        var sent = new ByteArrayOutputStream();
        try (var out = new ObjectOutputStream(sent)) {
            out.writeObject(hash);
        }
        try (var in = new ObjectInputStream(new ByteArrayInputStream(sent.toByteArray()))) {
            assertEquals("51f9cdee65c4ad1ff1cd026da68767f1", hash((RowHash) in.readObject(), 1L));
        }
    }

    @Test
    @DisplayName("the bytes of a hash are its halves")
    void bytes() {
        byte[] found = of("id BIGINT").bytesOf(new GenericInternalRow(new Object[] {1L}));
        assertEquals("51f9cdee65c4ad1ff1cd026da68767f1", HexFormat.of().formatHex(found));
    }
}
