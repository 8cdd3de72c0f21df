package tidemark;

import com.fasterxml.jackson.core.JsonFactory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Locale;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.JsonToStructs;
import org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonParser;
import org.apache.spark.sql.catalyst.util.FailureSafeParser;
import org.apache.spark.sql.classic.ExpressionUtils;
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

/**
 * Spark's from_json of one line, which gives a line's bytes to the parser where Spark makes a reader of characters for
 * each. Lines of which the two might think otherwise are left to Spark: those that are no UTF-8 or not plainly that
 * from their first bytes on, those so long that a name or number in them may be too long, and those that do not parse;
 * and all of them if options allow for more than JSON has.
 */
public final class JsonLine extends JsonToStructs {
    private static final long serialVersionUID = 1L;

    private static final int LONGEST = 1 << 14;

    private transient FailureSafeParser ours;
    private transient int flag;
    private transient boolean lenient;

    public JsonLine(DataType schema, Map options, Expression child, Option zone, boolean repeated) {
        super(schema, options, child, zone, repeated);
    }

    /** The line as a struct of the schema, with the column of the options for what does not parse. */
    public static Column function(Column line, String schema, Map options) {
        Expression child = ExpressionUtils.expression(line);
        return ExpressionUtils.column(
            new JsonLine(StructType.fromDDL(schema), options, child, Option.empty(), false));
    }

    public TimeZoneAwareExpression withTimeZone(String zone) {
        return new JsonLine(schema(), options(), child(), Option.apply(zone), variantAllowDuplicateKeys());
    }

    public JsonToStructs withNewChildInternal(Expression child) {
        return new JsonLine(schema(), options(), child, timeZoneId(), variantAllowDuplicateKeys());
    }

    /** No other from_json, or Spark would compute one of the two alone. */
    public boolean equals(Object other) {
        return other instanceof JsonLine && super.equals(other);
    }

    public boolean canEqual(Object other) {
        return other instanceof JsonLine;
    }

    public int hashCode() {
        return 31 * super.hashCode();
    }

    public Object nullSafeEval(Object line) {
        if (this.ours == null) {
            begin();
        }
        if (!this.lenient && isPlain((UTF8String) line)) {
            Iterator rows = this.ours.parse(line);
            InternalRow row = rows.hasNext() ? (InternalRow) rows.next() : null;
            if (row != null && row.isNullAt(this.flag)) {
                return row;
            }
        }
        return super.nullSafeEval(line);
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

    /** A parser as Spark makes its own, but for what it reads from. */
    private void begin() {
        JSONOptions known = new JSONOptions(options(), (String) timeZoneId().get(), "");
        String corrupt = known.columnNameOfCorruptRecord();
        StructType whole = (StructType) dataType();
        StructType read = new StructType();
        StructField[] fields = whole.fields();
        for (int index = 0; index < fields.length; index++) {
            read = fields[index].name().equals(corrupt) ? read : read.add(fields[index]);
        }
        Iterator given = options().keysIterator();
        while (given.hasNext()) {
            this.lenient |= given.next().toString().toLowerCase(Locale.ROOT).startsWith("allow");
        }
        JacksonParser parser = new JacksonParser(read, known, false, (Seq) Seq$.MODULE$.empty());
        this.flag = whole.fieldIndex(corrupt);
        this.ours = new FailureSafeParser(new Parsing(parser), known.parseMode(), whole, corrupt);
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
