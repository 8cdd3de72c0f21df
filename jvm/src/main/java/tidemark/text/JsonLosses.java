package tidemark.text;

import com.fasterxml.jackson.core.JsonFactory;
import java.io.IOException;
import java.io.Serializable;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;
import tidemark.plans.Scala;

/** Finds what a JSON line loses when Spark's from_json parses it: the public way of `JsonLineParser` has it beside. */
public final class JsonLosses implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final String RESULT = "lost ARRAY<STRING>, unknown STRING";

    private final StructType schema;
    private final Map<String, String> options;
    private final Seq<String> added;
    private transient JsonFactory factory;
    private transient JsonLossCheck check;

    private JsonLosses(StructType schema, Map<String, String> options, Seq<String> added) {
        this.schema = schema;
        this.options = options;
        this.added = added;
    }

    /**
     * Returns the findings as a column: the names of the columns that `JsonLossCheck` finds, and those of members that
     * the schema lacks, as `MemberNames` writes them. It is null where the line is.
     *
     * @param line a column of text
     * @param schema the columns in Spark's DDL
     * @param options Spark's options for JSON
     * @param added names of columns that are added to those of the line
     */
    public static Column function(
            Seq<Column> line, String schema, Map<String, String> options, Seq<String> added) {
        var losses = new JsonLosses((StructType) DataType.fromDDL(schema), options, added);
        return Invoked.plain(losses, "find", DataType.fromDDL(RESULT), line);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof JsonLosses it
            && it.schema.equals(this.schema)
            && it.options.equals(this.options)
            && it.added.equals(this.added);
    }

    @Override
    public int hashCode() {
        return this.schema.hashCode();
    }

    /** Returns the findings on a line, which is not null. */
    public InternalRow find(UTF8String line) throws IOException {
        if (this.check == null) {
            var settings = new JsonSettings(this.options);
            this.factory = settings.factory();
            this.check = new JsonLossCheck(this.schema, settings, Scala.list(this.added));
        }
        String[] names = this.schema.fieldNames();
        Object[] lost = this.check.lostColumns(JsonSettings.open(this.factory, line)).stream()
            .mapToObj(column -> UTF8String.fromString(names[column])).toArray();
        return new GenericInternalRow(new Object[] {new GenericArrayData(lost), this.check.unknownMembers()});
    }
}
