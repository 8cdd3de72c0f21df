package tidemark.expressions;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;
import tidemark.plans.Scala;

/**
 * Makes the expressions of a configuration safe, after Spark has analysed them: null for a row for which they cannot
 * be computed, and equal on every day. A text that Spark would complete with today's date is not read as a time,
 * whole numbers do not wrap, and no value grows without bound.
 */
public final class SafeExpressions {
    private static final String CLOCK = "reads the clock for ";
    private static final String MEMBERS =
        " takes text for a time, and Spark completes a time of day with today's date: read it as STRING, then use"
        + " to_timestamp(text, format)";
    private static final Set<String> TEXT_READERS =
        Set.of("JsonToStructs", "CsvToStructs", "XmlToStructs", "VariantGet");

    private final boolean exact;
    /** Texts that are read as times; the expression is null if one has no day. */
    private final List<Expression> timeTexts = new ArrayList<>();

    private SafeExpressions(boolean exact) {
        this.exact = exact;
    }

    /**
     * Makes the last expression of an analysed plan safe. With `exact`, whole numbers that do not fit are null.
     *
     * @throws RefusedExpression if the expression reads the clock for every row
     */
    public static Column of(LogicalPlan analysed, boolean exact) {
        refuseTextReaders(lastExpression(analysed));
        Expression whole = lastExpression(ReplaceExpressions$.MODULE$.apply(analysed));
        var safe = new SafeExpressions(exact);
        return ExpressionUtils.column(
            whole instanceof AggregateExpression ? safe.aggregate(whole) : safe.whole(whole));
    }

    /** Makes an expression safe that is no part of another one. */
    private Expression whole(Expression node) {
        Expression tried = new NullOnError(SizeBound.limit(part(node)));
        if (timeTexts.isEmpty()) {
            return tried;
        }
        Expression withoutDay = timeTexts.stream().map(SafeExpressions::isWithoutDay).reduce(Or::new).orElseThrow();
        return new If(withoutDay, Literal$.MODULE$.create(null, node.dataType()), tried);
    }

    /** Makes the arguments, the filter and the order of an aggregate safe, each by itself. */
    private Expression aggregate(Expression node) {
        return mapped(node, child -> {
            if (child instanceof AggregateFunction || child instanceof SortOrder) {
                return aggregate(child);
            }
            if (Scala.list(child.children()).isEmpty()) {
                return child;
            }
            var own = new SafeExpressions(exact);
            return child.foldable() ? own.part(child) : own.whole(child);
        });
    }

    /** Makes a part of an expression safe, parts of the part first. */
    private Expression part(Expression node) {
        if (node instanceof NullOnError) {
            return node;
        }
        if (node instanceof AggregateExpression) {
            return aggregate(node);
        }
        List<Expression> children = new ArrayList<>(Scala.list(node.children()));
        children.replaceAll(this::part);
        if (node instanceof LambdaFunction) {
            children.set(0, SizeBound.limit(children.get(0)));
        }
        Expression found = children.isEmpty() ? node : node.withNewChildren(Scala.seq(children));
        if (found instanceof Cast) {
            found = cast(node, found);
        }
        found = SizeBound.limitArguments(found);
        return exact ? ExactArithmetic.of(found) : found;
    }

    /**
     * Makes sure that a cast reads no text as a time of today. `written` is the cast before its parts were changed.
     */
    private Expression cast(Expression written, Expression cast) {
        DataType to = cast.dataType();
        Expression text = firstChild(written);
        boolean isText = text.dataType() instanceof StringType;
        boolean isTime = to instanceof TimestampType || to instanceof TimestampNTZType || to instanceof DateType;
        if (isText && isTime && text.foldable()) {
            requireDate(text);
            return cast;
        }
        if (!TimeTextGuard.readsTimes(text.dataType(), to)) {
            return cast;
        }
        if (isText && !isBoundWithin(text)) {
            timeTexts.add(text);
            return cast;
        }
        return cast.withNewChildren(Scala.seq(TimeTextGuard.guard(firstChild(cast), to)));
    }

    /** Returns true if an expression has a value only within a larger one. */
    private static boolean isBoundWithin(Expression node) {
        return node instanceof NamedLambdaVariable || node instanceof CommonExpressionRef
            || Scala.list(node.children()).stream().anyMatch(SafeExpressions::isBoundWithin);
    }

    private static Expression isWithoutDay(Expression text) {
        return new NullOnError(TimeTextGuard.isWithoutDay(text));
    }

    private static void requireDate(Expression text) {
        UTF8String value = text instanceof Literal literal ? (UTF8String) literal.value() : null;
        if (value == null || TimeTextGuard.isTimeOfDay(value) || TimeTextGuard.isSpecial(value)) {
            throw new RefusedExpression(CLOCK + text.sql() + ": write a date and a time");
        }
    }

    /** Refuses functions that read times out of text by themselves. */
    private static void refuseTextReaders(Expression node) {
        boolean reads = TEXT_READERS.contains(node.getClass().getSimpleName());
        if (reads && TimeTextGuard.hasTimes(node.dataType())) {
            throw new RefusedExpression("with " + node.prettyName() + "()" + MEMBERS);
        }
        Scala.list(node.children()).forEach(SafeExpressions::refuseTextReaders);
    }

    private static Expression lastExpression(LogicalPlan plan) {
        List<Expression> all = Scala.list(plan.expressions());
        Expression found = all.get(all.size() - 1);
        while (found instanceof Alias) {
            found = firstChild(found);
        }
        return found;
    }

    private static Expression firstChild(Expression node) {
        return Scala.list(node.children()).get(0);
    }

    private static Expression mapped(Expression node, UnaryOperator<Expression> change) {
        List<Expression> children = new ArrayList<>(Scala.list(node.children()));
        children.replaceAll(change);
        return node.withNewChildren(Scala.seq(children));
    }
}
