package tidemark;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;

/**
 * A number that is told to the tasks of a job as it begins, and so is no constant in Spark's code, which would be
 * compiled anew for each. As a column it is the same of any row, and is given something of it, lest Spark take it for a
 * constant itself.
 */
public final class Held implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private Long number;

    /** For jobs that begin from now on; null: there is none. */
    public void set(Object number) {
        this.number = number == null ? null : Long.valueOf(((Number) number).longValue());
    }

    /** As a column beside one that is true or false. */
    public Column beside(Seq any) {
        return Invoked.plain(this, "number", DataTypes.LongType, any);
    }

    public Long number(boolean any) {
        return this.number;
    }
}
