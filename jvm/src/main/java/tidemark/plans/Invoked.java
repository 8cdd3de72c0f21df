package tidemark.plans;

import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.ObjectType;
import scala.collection.immutable.Seq;

/**
 * Makes columns that call a method of an object. Spark writes such a call into its compiled code, with unboxed
 * values. A user-defined function would have each value boxed and converted, and an expression with CodegenFallback
 * would stay outside the compiled code.
 *
 * <p>Spark finds the method by its name and the types of the arguments; it must be public.
 */
public final class Invoked {
    private Invoked() {
    }

    /** Makes `target.method(arguments)`, which is null if an argument is null. Spark may repeat and move the call. */
    public static Column plain(Object target, String method, DataType gives, Seq<Column> arguments) {
        return column(target, method, gives, arguments, true, true, true);
    }

    /**
     * Makes `target.method(arguments)`, which is never null, and which Spark neither repeats nor moves. Arguments
     * that are numbers must never be null.
     */
    public static Column inTurn(Object target, String method, DataType gives, Seq<Column> arguments) {
        return column(target, method, gives, arguments, false, false, false);
    }

    /** Makes a call like `inTurn`, of a method that may return null. */
    public static Column inTurnOrNull(Object target, String method, DataType gives, Seq<Column> arguments) {
        return column(target, method, gives, arguments, false, true, false);
    }

    /** Makes `target.method(arguments)` as an expression among others, null if an argument is null. */
    public static Expression expression(Object target, String method, DataType gives, Expression... arguments) {
        return invoke(target, method, gives, List.of(arguments), true, true, true);
    }

    private static Column column(
            Object target, String method, DataType gives, Seq<Column> arguments,
            boolean nullIfNull, boolean nullable, boolean movable) {
        List<Expression> given = Scala.list(arguments).stream().map(ExpressionUtils::expression).toList();
        return ExpressionUtils.column(invoke(target, method, gives, given, nullIfNull, nullable, movable));
    }

    private static Expression invoke(
            Object target, String method, DataType gives, List<Expression> arguments,
            boolean nullIfNull, boolean nullable, boolean movable) {
        Expression object = Literal$.MODULE$.fromObject(target, new ObjectType(target.getClass()));
        return new Invoke(
            object, method, gives, Scala.seq(arguments), Scala.seq(), nullIfNull, nullable, movable);
    }
}
