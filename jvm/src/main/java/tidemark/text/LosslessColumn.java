package tidemark.text;

import java.io.Serializable;
import java.util.Locale;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/**
 * Checks a column of text, such as values of CSV, for values that change when they get a type, by the rules of
 * `LosslessText`.
 *
 * @param type DECIMAL, DATE, FLOAT or DOUBLE
 * @param language language tag that says how decimals are written, such as en-US
 */
public record LosslessColumn(DataType type, String language) implements Serializable {

    /**
     * Returns the check as a BOOLEAN column of one column of text. It is null where the text is null.
     *
     * @param type the type in Spark's DDL
     * @param language the language tag
     */
    public static Column function(Seq<Column> text, String type, String language) {
        var check = new LosslessColumn(DataType.fromDDL(type), language);
        return Invoked.plain(check, "evaluate", DataTypes.BooleanType, text);
    }

    /** Returns true if the text, which is not null, keeps its value or is no value of the type. */
    public boolean evaluate(UTF8String text) {
        if (this.type instanceof DecimalType decimal) {
            return LosslessText.fitsDecimal(text.toString(), decimal.scale(), Locale.forLanguageTag(this.language));
        }
        if (this.type.equals(DataTypes.DateType)) {
            return LosslessText.fitsDate(text.toString());
        }
        return LosslessText.fitsFloating(text.toString(), this.type.equals(DataTypes.FloatType));
    }
}
