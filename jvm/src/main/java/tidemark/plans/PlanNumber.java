package tidemark.plans;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;

/**
 * A plan parameter: a number that tasks get as a job begins. It is no constant in the plan, which serves other jobs with
 * other numbers, nor in its compiled code.
 */
public final class PlanNumber implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private Long number;

    /** Sets the number for jobs that begin from now on; null: there is none. */
    public void set(Object number) {
        this.number = number == null ? null : Long.valueOf(((Number) number).longValue());
    }

    /** The number as a column. It takes the hash of a column, which is never null and not known before the job: without
     * it Spark would take the number for a constant. */
    public Column beside(Seq hash) {
        return Invoked.plain(this, "number", DataTypes.LongType, hash);
    }

    public Long number(int hash) {
        return this.number;
    }

    public Long number() {
        return this.number;
    }
}
