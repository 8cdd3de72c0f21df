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

/** Calls of methods that Spark writes into its compiled code, with unboxed values: the private way of `Invoked`. */
public final class CompiledCall {
    private CompiledCall() {
    }

    /** Makes `target.method(arguments)` as an expression among others, null if an argument is null. */
    public static Expression expression(Object target, String method, DataType gives, Expression... arguments) {
        return invoke(new MethodCall(target, method, gives, true, true, true), List.of(arguments));
    }

    static Column column(MethodCall call, Seq<Column> arguments) {
        List<Expression> given = Scala.list(arguments).stream().map(ExpressionUtils::expression).toList();
        return ExpressionUtils.column(invoke(call, given));
    }

    private static Expression invoke(MethodCall call, List<Expression> arguments) {
        Expression object = Literal$.MODULE$.fromObject(call.target(), new ObjectType(call.target().getClass()));
        return new Invoke(
            object, call.method(), call.gives(), Scala.seq(arguments), Scala.seq(), call.nullIfNull(),
            call.nullable(), call.movable());
    }
}
