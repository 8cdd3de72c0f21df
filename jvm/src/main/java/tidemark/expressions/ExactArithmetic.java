package tidemark.expressions;

import org.apache.spark.sql.catalyst.expressions.Abs;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.BRound;
import org.apache.spark.sql.catalyst.expressions.BinaryArithmetic;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Ceil;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Floor;
import org.apache.spark.sql.catalyst.expressions.IntegralDivide;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.NumericEvalContext;
import org.apache.spark.sql.catalyst.expressions.Round;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.TimestampType;
import tidemark.plans.Invoked;
import tidemark.plans.Scala;

/**
 * Arithmetic of whole numbers that gives null where its result has no place in its type. With ANSI mode off Spark
 * would wrap it, or cut it to the type's bounds.
 */
public final class Exact implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    /** The bound of BIGINT, and the first double beyond it. */
    private static final double BEYOND = 9.223372036854775807e18;

    /** The expression in whose outermost part no number is wrapped or cut. */
    static Expression of(Expression node) {
        if (node instanceof Cast) {
            return cast((Cast) node);
        }
        if (node instanceof Ceil && left(node).dataType() instanceof DoubleType) {
            return new Ceil(inLong(left(node)));
        }
        if (node instanceof Floor && left(node).dataType() instanceof DoubleType) {
            return new Floor(inLong(left(node)));
        }
        if (!(node.dataType() instanceof IntegralType)) {
            return node;
        }
        if (node instanceof BinaryArithmetic) {
            return binary((BinaryArithmetic) node);
        }
        if (node instanceof UnaryMinus) {
            return new Tried(new UnaryMinus(left(node), true));
        }
        if (node instanceof Abs) {
            return new Tried(new Abs(left(node), true));
        }
        if (node instanceof Round) {
            return new Tried(new Round(left(node), right(node), true));
        }
        if (node instanceof BRound) {
            return new Tried(new BRound(left(node), right(node), true));
        }
        return node;
    }

    private static Expression cast(Cast cast) {
        DataType from = left(cast).dataType();
        boolean number = from instanceof NumericType || from instanceof TimestampType;
        if (!number || !(cast.dataType() instanceof IntegralType) || !legacy(cast.evalMode())) {
            return cast;
        }
        return new Cast(left(cast), cast.dataType(), cast.timeZoneId(), EvalMode$.MODULE$.TRY());
    }

    private static Expression binary(BinaryArithmetic node) {
        Expression left = left(node);
        Expression right = right(node);
        NumericEvalContext exact = new NumericEvalContext(EvalMode$.MODULE$.TRY(), true);
        if (!legacy(node.evalMode())) {
            return node;
        }
        if (node instanceof Add) {
            return new Add(left, right, exact);
        }
        if (node instanceof Subtract) {
            return new Subtract(left, right, exact);
        }
        if (node instanceof Multiply) {
            return new Multiply(left, right, exact);
        }
        return node instanceof IntegralDivide ? new IntegralDivide(left, right, exact) : node;
    }

    private static Expression left(Expression node) {
        return Scala.list(node.children()).get(0);
    }

    private static Expression right(Expression node) {
        return Scala.list(node.children()).get(1);
    }

    private static boolean legacy(Object mode) {
        return mode.equals(EvalMode$.MODULE$.LEGACY());
    }

    private static Expression inLong(Expression number) {
        return Invoked.expression(new Exact(), "inLong", DataTypes.DoubleType, new Expression[] {number});
    }

    public Double inLong(double number) {
        return number >= -BEYOND && number < BEYOND ? Double.valueOf(number) : null;
    }

    public boolean equals(Object other) {
        return other instanceof Exact;
    }

    public int hashCode() {
        return 2;
    }
}
