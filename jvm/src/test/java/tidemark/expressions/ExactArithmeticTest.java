package tidemark.expressions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NumericEvalContext;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import scala.Option;

class ExactArithmeticTest {
    private static final NumericEvalContext WRAPPING = new NumericEvalContext(EvalMode$.MODULE$.LEGACY(), true);

    private static Literal literal(Object value) {
        return Literal$.MODULE$.apply(value);
    }

    private static Object exact(Expression node) {
        return ExactArithmetic.of(node).eval(null);
    }

    @Test
    @DisplayName("a sum, a difference and a sign are null just beyond BIGINT, where Spark would wrap them")
    void wraps() {
        Expression most = literal(Long.MAX_VALUE);
        Expression least = literal(Long.MIN_VALUE);
        assertEquals(Long.MIN_VALUE, new Add(most, literal(1L), WRAPPING).eval(null));
        assertNull(exact(new Add(most, literal(1L), WRAPPING)));
        assertEquals(Long.MAX_VALUE, exact(new Add(most, literal(0L), WRAPPING)));
        assertNull(exact(new Subtract(least, literal(1L), WRAPPING)));
        assertNull(exact(new UnaryMinus(least, false)));
        assertEquals(-Long.MAX_VALUE, exact(new UnaryMinus(most, false)));
    }

    @Test
    @DisplayName("a cast to a narrower type is null if the number does not fit")
    void casts() {
        for (long number : new long[] {127, 128, -128, -129}) {
            var cast = new Cast(literal(number), DataTypes.ByteType, Option.empty(), EvalMode$.MODULE$.LEGACY());
            assertEquals(number == (byte) number ? (byte) number : null, exact(cast), "of " + number);
        }
    }

    @Test
    @DisplayName("a double fits BIGINT from -2^63 to just below 2^63")
    void doubles() {
        var arithmetic = new ExactArithmetic();
        double beyond = 0x1p63;
        assertEquals(-beyond, arithmetic.withinBigint(-beyond));
        assertNull(arithmetic.withinBigint(Math.nextDown(-beyond)));
        assertEquals(Math.nextDown(beyond), arithmetic.withinBigint(Math.nextDown(beyond)));
        assertNull(arithmetic.withinBigint(beyond));
        assertNull(arithmetic.withinBigint(Double.NaN));
    }

    @Test
    @DisplayName("arithmetic of doubles is left as it is")
    void leftAlone() {
        var sum = new Add(literal(1.5), literal(2.5), WRAPPING);
        assertSame(sum, ExactArithmetic.of(sum));
    }
}
