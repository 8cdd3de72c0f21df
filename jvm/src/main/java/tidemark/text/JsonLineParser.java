package tidemark.text;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.BitSet;
import java.util.Locale;
import java.util.Objects;
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
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Seq$;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import tidemark.plans.Invoked;

/**
 * Spark's from_json of one line, in compiled code. Plain lines are read by `PlainJsonParser`; of others a line's bytes are given
 * to the parser where Spark makes a reader of characters for each. Lines of which the two might think otherwise are
 * left to Spark: those that are no UTF-8 or not plainly that from their first bytes on, those so long that a name or
 * number in them may be too long, and those that do not parse; and all of them if options allow for more than JSON has.
 */
public final class JsonLineParser implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final int LONGEST = 1 << 14;
    private static final String MODE = "mode";
    private static final String CORRUPT = "columnnameofcorruptrecord";

    private final DataType schema;
    private final Map options;
    private final String zone;
    private final String plain;
    private final String outside;
    private final Seq excused;
    private final JsonToStructsEvaluator spark;
    private transient PlainJsonParser flat;
    private transient FailureSafeParser ours;
    private transient int flag;
    private transient int told;
    private transient int names;
    private transient JsonLossCheck lossy;
    private transient JsonFactory factory;
    private transient Opening opening;
    private transient BitSet excusable;
    private transient boolean begun;

    private JsonLineParser(DataType schema, Map options, String zone, String plain, Seq excused, String outside) {
        this.schema = schema;
        this.options = options;
        this.zone = zone;
        this.plain = plain;
        this.outside = outside;
        this.excused = excused;
        this.spark = new JsonToStructsEvaluator(options, schema, "", Option.apply(zone), false);
    }

    /**
     * The line as a value of the schema, with the column of the options for what does not parse; times without a zone are
     * in `zone`. The BOOLEAN column `plain` (null: there is none) is true if the line is plain, else null. With
     * `excused`, names of columns, values that do not survive are null, and `plain` is false if one is of another column;
     * the column `outside` (null: there is none) has the names of members that the schema lacks, see `MemberNames`.
     */
    public static Column function(
            Seq line, String schema, Map options, String zone, String plain, Seq excused, String outside) {
        DataType gives = DataType.fromDDL(schema).asNullable();
        return Invoked.plain(new JsonLineParser(gives, options, zone, plain, excused, outside), "evaluate", gives, line);
    }

    public boolean equals(Object other) {
        if (!(other instanceof JsonLineParser)) {
            return false;
        }
        JsonLineParser it = (JsonLineParser) other;
        boolean alike = Objects.equals(this.plain, it.plain) && Objects.equals(this.excused, it.excused)
            && Objects.equals(this.outside, it.outside);
        return alike && this.zone.equals(it.zone) && this.schema.equals(it.schema) && this.options.equals(it.options);
    }

    public int hashCode() {
        return 31 * this.schema.hashCode() + this.options.hashCode();
    }

    public Object evaluate(UTF8String line) {
        if (!this.begun) {
            begin();
            this.begun = true;
        }
        ByteBuffer bytes = line.getByteBuffer();
        int from = bytes.arrayOffset() + bytes.position();
        InternalRow row = this.flat == null ? null : this.flat.read(bytes.array(), from, from + bytes.remaining());
        if (row != null) {
            return row;
        }
        Object found = read(line);
        if (this.lossy != null && found instanceof InternalRow) {
            withoutLost((InternalRow) found, line);
        }
        return found;
    }

    /** Null instead of values that do not survive, and whether one of them is not excused. */
    private void withoutLost(InternalRow row, UTF8String line) {
        BitSet lost = this.lossy.columns((JsonParser) this.opening.apply(this.factory, line));
        for (int column = lost.nextSetBit(0); column >= 0; column = lost.nextSetBit(column + 1)) {
            if (column != this.flag && column != this.told && column != this.names) {
                row.setNullAt(column);
                if (!this.excusable.get(column)) {
                    row.update(this.told, Boolean.FALSE);
                }
            }
        }
        if (this.names >= 0) {
            row.update(this.names, this.lossy.unknown());
        }
    }

    private Object read(UTF8String line) {
        if (this.ours != null && isPlain(line)) {
            Iterator rows = this.ours.parse(line);
            InternalRow row = rows.hasNext() ? (InternalRow) rows.next() : null;
            if (row != null && row.isNullAt(this.flag)) {
                return untold(row);
            }
        }
        Object found = this.spark.evaluate(line);
        return found instanceof InternalRow ? untold((InternalRow) found) : found;
    }

    /** A member of this name says nothing. */
    private InternalRow untold(InternalRow row) {
        if (this.plain != null) {
            row.setNullAt(this.told);
        }
        return row;
    }

    private static boolean isPlain(UTF8String line) {
        int length = line.numBytes();
        if (length < 4 || length > LONGEST || line.getByte(0) != '{') {
            return false;
        }
        for (int at = 1; at < 4; at++) {
            if (line.getByte(at) == 0) {
                return false;
            }
        }
        return line.isFullAscii() || line.isValid();
    }

    private void begin() {
        if (!(this.schema instanceof StructType)) {
            return;
        }
        StructType whole = (StructType) this.schema;
        boolean usual = true;
        boolean lenient = false;
        Iterator given = this.options.keysIterator();
        while (given.hasNext()) {
            String name = given.next().toString().toLowerCase(Locale.ROOT);
            usual &= name.equals(MODE) || name.equals(CORRUPT);
            lenient |= name.startsWith("allow");
        }
        JSONOptions known = new JSONOptions(this.options, this.zone, "");
        this.flag = whole.fieldIndex(known.columnNameOfCorruptRecord());
        this.names = this.outside == null ? -1 : whole.fieldIndex(this.outside);
        if (!lenient) {
            this.ours = parser(whole, known);
        }
        if (this.plain != null) {
            this.told = whole.fieldIndex(this.plain);
            this.flat = usual && this.zone.equals("UTC") ? new PlainJsonParser(whole, this.flag, this.told, this.names) : null;
        }
        if (this.excused != null) {
            this.factory = known.buildJsonFactory();
            this.opening = new Opening();
            boolean ownDates = isTimed(known.dateFormatInRead());
            this.lossy = new JsonLossCheck(whole, known.locale(), ownDates);
            this.excusable = new BitSet();
            for (int index = 0; index < this.excused.length(); index++) {
                this.excusable.set(whole.fieldIndex((String) this.excused.apply(index)));
            }
        }
    }

    /** Whether days are written in a form that has hours. */
    private static boolean isTimed(Option form) {
        return form.isDefined() && form.get().toString().replaceAll("'[^']*'", "").matches(".*[HhKk].*");
    }

    /** A parser as Spark makes its own, but for what it reads from. */
    private static FailureSafeParser parser(StructType whole, JSONOptions known) {
        String corrupt = known.columnNameOfCorruptRecord();
        StructType read = new StructType();
        StructField[] fields = whole.fields();
        for (int index = 0; index < fields.length; index++) {
            read = fields[index].name().equals(corrupt) ? read : read.add(fields[index]);
        }
        JacksonParser parser = new JacksonParser(read, known, false, (Seq) Seq$.MODULE$.empty());
        return new FailureSafeParser(new Parsing(parser), known.parseMode(), whole, corrupt);
    }

    /** The rows of a line, of which there is one at most. */
    private static final class Parsing extends AbstractFunction1 {
        private final JacksonParser parser;
        private final Opening opening = new Opening();
        private final Itself itself = new Itself();

        Parsing(JacksonParser parser) {
            this.parser = parser;
        }

        public Object apply(Object line) {
            return this.parser.parse(line, this.opening, this.itself);
        }
    }

    private static final class Opening extends AbstractFunction2 {
        public Object apply(Object factory, Object line) {
            ByteBuffer bytes = ((UTF8String) line).getByteBuffer();
            try {
                return ((JsonFactory) factory).createParser(
                    bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
            } catch (IOException strange) {
                throw new IllegalStateException(strange);
            }
        }
    }

    private static final class Itself extends AbstractFunction1 {
        public Object apply(Object line) {
            return line;
        }
    }
}
