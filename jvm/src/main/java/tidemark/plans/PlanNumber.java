package tidemark.plans;

import java.io.Serializable;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;

/**
 * A plan parameter: a number that tasks get as a job begins. It is no constant in the plan or in its compiled code,
 * so that both serve later jobs with other numbers.
 */
public final class PlanNumber implements Serializable {
    private static final long serialVersionUID = 1L;

    private Long number;

    /** Sets the number for jobs that begin later; null for none. */
    public void set(Number number) {
        this.number = number == null ? null : number.longValue();
    }

    /**
     * Makes a column of the number. It takes the hash of another column, which is never null and not known before the
     * job: without it Spark would take the number for a constant.
     */
    public Column beside(Seq<Column> hash) {
        return Invoked.plain(this, "number", DataTypes.LongType, hash);
    }

    /** Returns the number, or null; the hash is ignored. */
    public Long number(int hash) {
        return number;
    }

    /** Returns the number, or null. */
    public Long number() {
        return number;
    }
}
