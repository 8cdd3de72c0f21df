package tidemark.text;

import java.util.Locale;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/** `LosslessText` of a text that stands alone, such as a value of CSV, as a column. */
public final class LosslessColumn implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private final DataType type;
    private final String language;

    private LosslessColumn(DataType type, String language) {
        this.type = type;
        this.language = language;
    }

    /** Whether text survives as a value of a type, its numbers written as in that language. */
    public static Column function(Seq text, String type, String language) {
        return Invoked.plain(new LosslessColumn(DataType.fromDDL(type), language), "evaluate", DataTypes.BooleanType, text);
    }

    public boolean equals(Object other) {
        if (!(other instanceof LosslessColumn)) {
            return false;
        }
        LosslessColumn it = (LosslessColumn) other;
        return this.type.equals(it.type) && this.language.equals(it.language);
    }

    public int hashCode() {
        return this.type.hashCode();
    }

    public boolean evaluate(UTF8String text) {
        if (this.type instanceof DecimalType) {
            return LosslessText.decimal(text.toString(), ((DecimalType) this.type).scale(), Locale.forLanguageTag(this.language));
        }
        if (this.type.equals(DataTypes.DateType)) {
            return LosslessText.date(text.toString());
        }
        return LosslessText.real(text.toString(), this.type.equals(DataTypes.FloatType));
    }
}
