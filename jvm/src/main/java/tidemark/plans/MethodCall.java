package tidemark.plans;

import java.io.Serializable;
import org.apache.spark.sql.types.DataType;

/**
 * A call of a public method of an object for each row.
 *
 * @param target the object, of which each task gets a copy
 * @param method the name of the method; the types of the arguments choose among several
 * @param gives the type of the result
 * @param nullIfNull true if the result is null where an argument is null, without a call
 * @param nullable true if the result may be null
 * @param movable true if Spark may repeat and move the call
 */
record MethodCall(
        Object target, String method, DataType gives, boolean nullIfNull, boolean nullable, boolean movable)
        implements Serializable {
}
