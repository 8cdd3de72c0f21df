package tidemark;

import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * A number that is told to the tasks of a job as it begins, and so is no constant in Spark's code, which would be
 * compiled anew for each. As a column function it is the same of any column, and is given one, lest Spark take it for
 * a constant itself.
 */
public final class Held implements UDF1 {
    private static final long serialVersionUID = 1L;

    private Long number;

    /** For jobs that begin from now on; null: there is none. */
    public void set(Object number) {
        this.number = number == null ? null : Long.valueOf(((Number) number).longValue());
    }

    public UserDefinedFunction function() {
        return functions.udf((UDF1) this, DataTypes.LongType);
    }

    public Object call(Object any) {
        return this.number;
    }
}
