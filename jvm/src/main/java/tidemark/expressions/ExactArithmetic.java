package tidemark.expressions;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.Abs;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Add$;
import org.apache.spark.sql.catalyst.expressions.BRound;
import org.apache.spark.sql.catalyst.expressions.BinaryArithmetic;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Ceil;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Floor;
import org.apache.spark.sql.catalyst.expressions.IntegralDivide;
import org.apache.spark.sql.catalyst.expressions.IntegralDivide$;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.Multiply$;
import org.apache.spark.sql.catalyst.expressions.Round;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.Subtract$;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.TimestampType;
import tidemark.plans.CompiledCall;
import tidemark.plans.Scala;

/**
 * Arithmetic of whole numbers that is null if the result does not fit its type. With ANSI mode off Spark would wrap
 * it, or cut it to the bounds of its type.
 */
public record ExactArithmetic() implements Serializable {
    /** The first double beyond BIGINT, 2^63. Its negative is the lowest BIGINT. */
    private static final double BEYOND_BIGINT = 9.223372036854775807e18;

    /** Returns the expression with its outermost operation made exact; its parts are left as they are. */
    static Expression of(Expression node) {
        if (node instanceof Cast cast) {
            return exactCast(cast);
        }
        if ((node instanceof Ceil || node instanceof Floor) && left(node).dataType() instanceof DoubleType) {
            return node.withNewChildren(Scala.seq(withinBigint(left(node))));
        }
        if (!(node.dataType() instanceof IntegralType)) {
            return node;
        }
        if (node instanceof BinaryArithmetic binary) {
            return exactBinary(binary);
        }
        if (node instanceof UnaryMinus) {
            return new NullOnError(new UnaryMinus(left(node), true));
        }
        if (node instanceof Abs) {
            return new NullOnError(new Abs(left(node), true));
        }
        if (node instanceof Round) {
            return new NullOnError(new Round(left(node), right(node), true));
        }
        if (node instanceof BRound) {
            return new NullOnError(new BRound(left(node), right(node), true));
        }
        return node;
    }

    private static Expression exactCast(Cast cast) {
        DataType from = left(cast).dataType();
        boolean isNumber = from instanceof NumericType || from instanceof TimestampType;
        if (!isNumber || !(cast.dataType() instanceof IntegralType) || !isLegacy(cast.evalMode())) {
            return cast;
        }
        return new Cast(left(cast), cast.dataType(), cast.timeZoneId(), EvalMode$.MODULE$.TRY());
    }

    private static Expression exactBinary(BinaryArithmetic node) {
        if (!isLegacy(node.evalMode())) {
            return node;
        }
        Expression left = left(node);
        Expression right = right(node);
        var exact = EvalMode$.MODULE$.TRY();
        if (node instanceof Add) {
            return Add$.MODULE$.apply(left, right, exact);
        }
        if (node instanceof Subtract) {
            return Subtract$.MODULE$.apply(left, right, exact);
        }
        if (node instanceof Multiply) {
            return Multiply$.MODULE$.apply(left, right, exact);
        }
        return node instanceof IntegralDivide ? IntegralDivide$.MODULE$.apply(left, right, exact) : node;
    }

    private static Expression left(Expression node) {
        return Scala.list(node.children()).get(0);
    }

    private static Expression right(Expression node) {
        return Scala.list(node.children()).get(1);
    }

    private static boolean isLegacy(Object mode) {
        return mode.equals(EvalMode$.MODULE$.LEGACY());
    }

    private static Expression withinBigint(Expression number) {
        return CompiledCall.expression(new ExactArithmetic(), "withinBigint", DataTypes.DoubleType, number);
    }

    /** Returns the number, or null if BIGINT has no such number. */
    public Double withinBigint(double number) {
        return number >= -BEYOND_BIGINT && number < BEYOND_BIGINT ? number : null;
    }
}
