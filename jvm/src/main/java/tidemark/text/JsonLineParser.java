package tidemark.text;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.BitSet;
import java.util.HashSet;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.json.JsonToStructsEvaluator;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonParser;
import org.apache.spark.sql.catalyst.util.FailureSafeParser;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Function2;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import tidemark.plans.Invoked;
import tidemark.plans.Scala;

/**
 * Parses a JSON line as Spark's from_json does, but faster. Plain lines are parsed by `PlainJsonParser`. Of other
 * lines Spark's parser is given the bytes, where Spark makes a reader of characters for each line. Lines that a
 * parser of bytes may take for something else are left to Spark: those that are no UTF-8 or not plainly that from
 * their first bytes on, those so long that a name or number may be too long, and those that do not parse; and all
 * lines if options allow more than JSON has.
 */
public final class JsonLineParser implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Most bytes of a line that Spark's parser is given as bytes. */
    private static final int MOST_BYTES = 1 << 14;
    private static final String MODE = "mode";
    private static final String CORRUPT = "columnnameofcorruptrecord";
    private static final Function2<JsonFactory, UTF8String, JsonParser> OPEN = JsonSettings::open;
    private static final Function1<UTF8String, UTF8String> ITSELF = line -> line;

    private final DataType schema;
    private final Map<String, String> options;
    private final String zone;
    private final String plain;
    private final String unknown;
    private final Seq<String> excused;
    private final JsonToStructsEvaluator spark;

    // Made by `prepare` in each task. A parser that is null is not used.
    private transient boolean prepared;
    private transient int corruptColumn;
    private transient int plainColumn;
    private transient int unknownColumn;
    private transient PlainJsonParser plainLines;
    private transient FailureSafeParser<UTF8String> byteLines;
    private transient JsonLossCheck lossCheck;
    private transient JsonFactory factory;
    private transient BitSet excusedColumns;

    private JsonLineParser(
            DataType schema, Map<String, String> options, String zone, String plain, Seq<String> excused,
            String unknown) {
        this.schema = schema;
        this.options = options;
        this.zone = zone;
        this.plain = plain;
        this.unknown = unknown;
        this.excused = excused;
        this.spark = new JsonToStructsEvaluator(options, schema, "", Option.apply(zone), false);
    }

    /**
     * Returns the parsed line as a column of the schema.
     *
     * @param line a column of text
     * @param schema the type in Spark's DDL, with the column of the options for lines that do not parse
     * @param options Spark's options for JSON
     * @param zone the zone of times that are written without one
     * @param plain name of the BOOLEAN column that is true if the line is plain, else null; or null if there is none
     * @param excused names of columns that may lose their value. If it is not null, a value that `JsonLossCheck`
     *     finds becomes null, and `plain`, which must have a name, becomes false if its column is not named here
     * @param unknown name of the column for the names of members that the schema lacks, as `MemberNames` writes them;
     *     it is null if there is none
     */
    public static Column function(
            Seq<Column> line, String schema, Map<String, String> options, String zone, String plain,
            Seq<String> excused, String unknown) {
        DataType type = DataType.fromDDL(schema).asNullable();
        var parser = new JsonLineParser(type, options, zone, plain, excused, unknown);
        return Invoked.plain(parser, "evaluate", type, line);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof JsonLineParser it
            && Objects.equals(this.plain, it.plain)
            && Objects.equals(this.excused, it.excused)
            && Objects.equals(this.unknown, it.unknown)
            && this.zone.equals(it.zone)
            && this.schema.equals(it.schema)
            && this.options.equals(it.options);
    }

    @Override
    public int hashCode() {
        return 31 * this.schema.hashCode() + this.options.hashCode();
    }

    /** Returns the value of a line, which is not null: a row, an array or a map as the schema says, or null. */
    public Object evaluate(UTF8String line) {
        if (!this.prepared) {
            prepare();
            this.prepared = true;
        }
        if (this.plainLines != null) {
            ByteBuffer bytes = line.getByteBuffer();
            int from = bytes.arrayOffset() + bytes.position();
            InternalRow row = this.plainLines.parse(bytes.array(), from, from + bytes.remaining());
            if (row != null) {
                return row;
            }
        }
        Object found = parse(line);
        if (this.lossCheck != null && found instanceof InternalRow row) {
            removeLost(row, line);
        }
        return found;
    }

    /** Replaces values that are not kept by null, and marks the row if one of them is not excused. */
    private void removeLost(InternalRow row, UTF8String line) {
        BitSet lost = this.lossCheck.lostColumns(JsonSettings.open(this.factory, line));
        for (int column = lost.nextSetBit(0); column >= 0; column = lost.nextSetBit(column + 1)) {
            row.setNullAt(column);
            if (!this.excusedColumns.get(column)) {
                row.update(this.plainColumn, Boolean.FALSE);
            }
        }
        if (this.unknownColumn >= 0) {
            row.update(this.unknownColumn, this.lossCheck.unknownMembers());
        }
    }

    /** Returns the names of the columns that have something about a line, and no member of it. */
    private Set<String> addedColumns(StructType columns) {
        Set<String> added = new HashSet<>();
        for (int column : new int[] {this.corruptColumn, this.plainColumn, this.unknownColumn}) {
            if (column >= 0) {
                added.add(columns.fieldNames()[column]);
            }
        }
        return added;
    }

    private Object parse(UTF8String line) {
        if (this.byteLines != null && isPlainlyUtf8(line)) {
            Iterator<InternalRow> rows = this.byteLines.parse(line);
            InternalRow row = rows.hasNext() ? rows.next() : null;
            if (row != null && row.isNullAt(this.corruptColumn)) {
                return unmarked(row);
            }
        }
        Object found = this.spark.evaluate(line);
        return found instanceof InternalRow row ? unmarked(row) : found;
    }

    /** Returns the row without what a member with the name of the plain column has set. */
    private InternalRow unmarked(InternalRow row) {
        if (this.plain != null) {
            row.setNullAt(this.plainColumn);
        }
        return row;
    }

    /** Returns true if a parser of bytes takes the line for UTF-8, and it is. */
    private static boolean isPlainlyUtf8(UTF8String line) {
        int length = line.numBytes();
        if (length < 4 || length > MOST_BYTES || line.getByte(0) != '{') {
            return false;
        }
        for (int at = 1; at < 4; at++) {
            if (line.getByte(at) == 0) {
                return false;
            }
        }
        return line.isFullAscii() || line.isValid();
    }

    private void prepare() {
        if (!(this.schema instanceof StructType columns)) {
            return;
        }
        boolean usual = true;
        boolean lenient = false;
        for (String given : CollectionConverters.asJava(this.options).keySet()) {
            String name = given.toLowerCase(Locale.ROOT);
            usual &= name.equals(MODE) || name.equals(CORRUPT);
            lenient |= name.startsWith("allow");
        }
        var parsed = new JSONOptions(this.options, this.zone, "");
        this.corruptColumn = columns.fieldIndex(parsed.columnNameOfCorruptRecord());
        this.unknownColumn = this.unknown == null ? -1 : columns.fieldIndex(this.unknown);
        if (!lenient) {
            this.byteLines = parserOfBytes(columns, parsed);
        }
        if (this.plain != null) {
            this.plainColumn = columns.fieldIndex(this.plain);
            if (usual && this.zone.equals("UTC")) {
                this.plainLines =
                    new PlainJsonParser(columns, this.corruptColumn, this.plainColumn, this.unknownColumn);
            }
        }
        if (this.excused != null) {
            var settings = new JsonSettings(this.options);
            this.factory = settings.factory();
            this.lossCheck = new JsonLossCheck(columns, settings, addedColumns(columns));
            this.excusedColumns = new BitSet();
            for (String name : Scala.list(this.excused)) {
                this.excusedColumns.set(columns.fieldIndex(name));
            }
        }
    }

    /** Returns the parser that Spark makes for these options, except that it reads bytes. */
    private static FailureSafeParser<UTF8String> parserOfBytes(StructType columns, JSONOptions options) {
        String corrupt = options.columnNameOfCorruptRecord();
        var members = new StructType();
        for (StructField field : columns.fields()) {
            members = field.name().equals(corrupt) ? members : members.add(field);
        }
        var parser = new JacksonParser(members, options, false, Scala.seq());
        return new FailureSafeParser<>(
            line -> parser.parse(line, OPEN, ITSELF), options.parseMode(), columns, corrupt);
    }
}
