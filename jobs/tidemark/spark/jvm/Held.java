package tidemark;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;

/**
 * A number that is told to the tasks of a job as it begins, and so is no constant in Spark's plan, which serves others,
 * or its code, which would be compiled anew for each. As a column it is the same of any row, and is given a hash of it,
 * which is never null and which Spark can't tell beforehand, lest it take the number for a constant.
 */
public final class Held implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private Long number;

    /** For jobs that begin from now on; null: there is none. */
    public void set(Object number) {
        this.number = number == null ? null : Long.valueOf(((Number) number).longValue());
    }

    /** As a column beside the hash of another. */
    public Column beside(Seq hash) {
        return Invoked.plain(this, "number", DataTypes.LongType, hash);
    }

    public Long number(int hash) {
        return this.number;
    }
}
