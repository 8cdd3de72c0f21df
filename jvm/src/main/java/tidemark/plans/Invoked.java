package tidemark.plans;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.ObjectType;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Seq$;
import scala.collection.mutable.Builder;

/**
 * Calls of an object's method as columns. Spark writes such a call into its compiled code, with values as they are,
 * where a user-defined function has each of them boxed and converted, and what CodegenFallback has stays outside.
 */
public final class Invoked {
    private Invoked() {
    }

    /** `target.method(arguments)`, null where an argument is; Spark may repeat and move it. */
    public static Column plain(Object target, String method, DataType gives, Seq arguments) {
        return column(target, method, gives, arguments, true, true, true);
    }

    /** `target.method(arguments)`, which is never null and which Spark must neither repeat nor move. Arguments that are
     * numbers must never be null. */
    public static Column inTurn(Object target, String method, DataType gives, Seq arguments) {
        return column(target, method, gives, arguments, false, false, false);
    }

    /** The same of a method that may give null. */
    public static Column inTurnOrNull(Object target, String method, DataType gives, Seq arguments) {
        return column(target, method, gives, arguments, false, true, false);
    }

    /** `target.method(arguments)` as an expression among others, null where an argument is. */
    public static Expression expression(Object target, String method, DataType gives, Expression[] arguments) {
        Builder children = Seq$.MODULE$.newBuilder();
        for (int index = 0; index < arguments.length; index++) {
            children.addOne(arguments[index]);
        }
        return invoke(target, method, gives, (Seq) children.result(), true, true, true);
    }

    private static Column column(
            Object target, String method, DataType gives, Seq arguments,
            boolean nullOfNull, boolean nullable, boolean anywhere) {
        Builder children = Seq$.MODULE$.newBuilder();
        for (int index = 0; index < arguments.length(); index++) {
            children.addOne(ExpressionUtils.expression((Column) arguments.apply(index)));
        }
        Seq given = (Seq) children.result();
        return ExpressionUtils.column(invoke(target, method, gives, given, nullOfNull, nullable, anywhere));
    }

    private static Expression invoke(
            Object target, String method, DataType gives, Seq given,
            boolean nullOfNull, boolean nullable, boolean anywhere) {
        Expression object = Literal$.MODULE$.fromObject(target, new ObjectType(target.getClass()));
        Seq types = (Seq) Seq$.MODULE$.empty();
        return new Invoke(object, method, gives, given, types, nullOfNull, nullable, anywhere);
    }
}
