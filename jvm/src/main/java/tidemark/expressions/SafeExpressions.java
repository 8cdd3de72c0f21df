package tidemark.expressions;

import java.util.ArrayList;
import java.util.List;
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
import scala.collection.immutable.Seq;
import scala.collection.immutable.Seq$;
import scala.collection.mutable.Builder;
import tidemark.plans.Scala;

/**
 * Expressions of a configuration, analysed by Spark, made sound: null where they cannot be computed, whatever the row
 * has, and the same on every day. Text that Spark would complete with today's date is not read as a time, numbers
 * do not wrap, and nothing grows without bound.
 */
public final class Sound {
    private static final String CLOCK = "reads the clock for ";
    private static final String MEMBERS =
        " takes text for a time, and Spark completes a time of day with today's date: read it as STRING, then use"
        + " to_timestamp(text, format)";

    private final boolean exact;
    private final List texts = new ArrayList();

    private Sound(boolean exact) {
        this.exact = exact;
    }

    /** The last expression of a plan; `exact`: numbers do not wrap. Raises `Refused` where it reads the clock whatever
     * the row says. */
    public static Column of(LogicalPlan analysed, boolean exact) {
        refuseReaders(last(analysed));
        Expression whole = last(ReplaceExpressions$.MODULE$.apply(analysed));
        Sound sound = new Sound(exact);
        boolean aggregate = whole instanceof AggregateExpression;
        return ExpressionUtils.column(aggregate ? sound.aggregated(whole) : sound.whole(whole));
    }

    /** The whole of what stands for itself: null where it cannot be computed. */
    private Expression whole(Expression node) {
        Expression tried = new Tried(Bounded.whole(sound(node)));
        if (this.texts.isEmpty()) {
            return tried;
        }
        Expression dayless = dayless(this.texts.get(0));
        for (int index = 1; index < this.texts.size(); index++) {
            dayless = new Or(dayless, dayless(this.texts.get(index)));
        }
        return new If(dayless, Literal$.MODULE$.create(null, node.dataType()), tried);
    }

    /** An aggregate of rows in each of which what it takes, or is filtered or ordered by, is whole by itself. */
    private Expression aggregated(Expression node) {
        Expression[] children = array(node.children());
        for (int index = 0; index < children.length; index++) {
            Expression child = children[index];
            boolean holds = child instanceof AggregateFunction || child instanceof SortOrder;
            if (holds) {
                children[index] = aggregated(child);
            } else if (!Scala.list(child.children()).isEmpty()) {
                Sound own = new Sound(this.exact);
                children[index] = child.foldable() ? own.sound(child) : own.whole(child);
            }
        }
        return (Expression) node.withNewChildren(seq(children));
    }

    private Expression sound(Expression node) {
        if (node instanceof Tried) {
            return node;
        }
        if (node instanceof AggregateExpression) {
            return aggregated(node);
        }
        Expression[] children = array(node.children());
        for (int index = 0; index < children.length; index++) {
            children[index] = sound(children[index]);
        }
        if (node instanceof LambdaFunction) {
            children[0] = Bounded.whole(children[0]);
        }
        Expression found = children.length == 0 ? node : (Expression) node.withNewChildren(seq(children));
        found = Bounded.told(found instanceof Cast ? dated((Cast) node, (Cast) found) : found);
        return this.exact ? Exact.of(found) : found;
    }

    /** A cast, `written` as it was, that reads no text as a time of today. */
    private Expression dated(Cast written, Cast found) {
        DataType to = found.dataType();
        Expression text = array(written.children())[0];
        boolean isText = text.dataType() instanceof StringType;
        boolean isTime = to instanceof TimestampType || to instanceof TimestampNTZType || to instanceof DateType;
        if (isText && isTime && text.foldable()) {
            requireADate(text);
            return found;
        }
        if (!Dated.reads(text.dataType(), to)) {
            return found;
        }
        if (isText && !within(text)) {
            this.texts.add(text);
            return found;
        }
        return (Expression) found.withNewChildren(seq(new Expression[] {Dated.guarded(array(found.children())[0], to)}));
    }

    /** Whether an expression has a value only within a larger one. */
    private static boolean within(Expression node) {
        if (node instanceof NamedLambdaVariable || node instanceof CommonExpressionRef) {
            return true;
        }
        Expression[] children = array(node.children());
        boolean found = false;
        for (int index = 0; index < children.length && !found; index++) {
            found = within(children[index]);
        }
        return found;
    }

    private static Expression dayless(Object text) {
        return new Tried(Dated.dayless((Expression) text));
    }

    private static void requireADate(Expression text) {
        UTF8String value = text instanceof Literal ? (UTF8String) ((Literal) text).value() : null;
        if (value == null || Dated.isTimeOfDay(value) || Dated.isSpecial(value)) {
            throw new Refused(CLOCK + text.sql() + ": write a date and a time");
        }
    }

    /** Refuses functions that read times out of text by themselves. */
    private static void refuseReaders(Expression node) {
        String name = node.getClass().getSimpleName();
        boolean reads = name.equals("JsonToStructs") || name.equals("CsvToStructs") || name.equals("XmlToStructs")
            || name.equals("VariantGet");
        if (reads && Dated.hasTimes(node.dataType())) {
            throw new Refused("with " + node.prettyName() + "()" + MEMBERS);
        }
        Expression[] children = array(node.children());
        for (int index = 0; index < children.length; index++) {
            refuseReaders(children[index]);
        }
    }

    private static Expression last(LogicalPlan plan) {
        List<Expression> all = Scala.list(plan.expressions());
        Expression found = all.get(all.size() - 1);
        while (found instanceof Alias) {
            found = array(found.children())[0];
        }
        return found;
    }

    static Expression[] array(Seq nodes) {
        Expression[] found = new Expression[nodes.length()];
        for (int index = 0; index < found.length; index++) {
            found[index] = (Expression) nodes.apply(index);
        }
        return found;
    }

    static Seq seq(Expression[] nodes) {
        Builder found = Seq$.MODULE$.newBuilder();
        for (int index = 0; index < nodes.length; index++) {
            found.addOne(nodes[index]);
        }
        return (Seq) found.result();
    }
}
