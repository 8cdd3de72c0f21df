package tidemark.plans;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.Seq;

/**
 * Makes columns that call a method of an object. Spark writes such a call into its compiled code, with unboxed
 * values (`CompiledCall`). A user-defined function would have each value boxed and converted, and an expression with
 * CodegenFallback would stay outside the compiled code. In a session that has the catalog of `CatalogFunctions`, calls
 * go through that, with equal results.
 *
 * <p>Spark finds the method by its name and the types of the arguments; it must be public.
 */
public final class Invoked {
    private Invoked() {
    }

    /** Makes `target.method(arguments)`, which is null if an argument is null. Spark may repeat and move the call. */
    public static Column plain(Object target, String method, DataType gives, Seq<Column> arguments) {
        return column(new MethodCall(target, method, gives, true, true, true), arguments);
    }

    /**
     * Makes `target.method(arguments)`, which is never null, and which Spark neither repeats nor moves. Arguments
     * that are numbers must never be null.
     */
    public static Column inTurn(Object target, String method, DataType gives, Seq<Column> arguments) {
        return column(new MethodCall(target, method, gives, false, false, false), arguments);
    }

    /** Makes a call like `inTurn`, of a method that may return null. */
    public static Column inTurnOrNull(Object target, String method, DataType gives, Seq<Column> arguments) {
        return column(new MethodCall(target, method, gives, false, true, false), arguments);
    }

    private static Column column(MethodCall call, Seq<Column> arguments) {
        return CatalogFunctions.areUsed()
            ? CatalogFunctions.column(call, arguments)
            : CompiledCall.column(call, arguments);
    }
}
