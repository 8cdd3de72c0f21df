package tidemark.expressions;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.ConditionalExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import tidemark.plans.Scala;

/**
 * An expression that is null where its child cannot be computed: where that throws an exception, or asks for more
 * stack or memory than there is.
 *
 * <p>Spark's own `TryEval` is not enough. It catches exceptions only, and Spark moves it into the branches of its
 * child. This one is conditional, so that Spark computes no part of the child ahead, where nothing would catch an
 * exception.
 */
public final class NullOnError extends Expression implements ConditionalExpression, Serializable {
    private static final long serialVersionUID = 1L;

    private final Expression child;

    /** Wraps an expression. */
    public NullOnError(Expression child) {
        this.child = child;
    }

    @Override
    public Seq<Expression> children() {
        return Scala.seq(child);
    }

    @Override
    public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
        return new NullOnError(Scala.list(children).get(0));
    }

    @Override
    public boolean foldable() {
        return false;
    }

    @Override
    public boolean nullable() {
        return true;
    }

    @Override
    public DataType dataType() {
        return child.dataType();
    }

    @Override
    public int productArity() {
        return 1;
    }

    @Override
    public Object productElement(int index) {
        return child;
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof NullOnError;
    }

    @Override
    public Object eval(InternalRow input) {
        try {
            return child.eval(input);
        } catch (Exception | StackOverflowError | OutOfMemoryError failed) {
            return null;
        }
    }

    @Override
    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode tried = child.genCode(context);
        Seq<String> parts = Scala.seq(
            "\nboolean ", " = true;\n" + CodeGenerator.javaType(dataType()) + " ",
            " = " + CodeGenerator.defaultValue(dataType(), false) + ";\ntry {\n", "\n", " = ", ";\n", " = ",
            ";\n} catch (Exception failed) {\n} catch (StackOverflowError failed) {\n"
                + "} catch (OutOfMemoryError failed) {\n}\n");
        Seq<JavaCode> inputs = Scala.<JavaCode>seq(
            code.isNull(), code.value(), tried.code(), code.isNull(), tried.isNull(), code.value(), tried.value());
        return new ExprCode(new CodeBlock(parts, inputs), code.isNull(), code.value());
    }

    @Override
    public Seq<Expression> alwaysEvaluatedInputs() {
        return Scala.seq();
    }

    @Override
    public ConditionalExpression withNewAlwaysEvaluatedInputs(Seq<Expression> inputs) {
        return this;
    }

    @Override
    public Seq<Seq<Expression>> branchGroups() {
        return Scala.seq();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof NullOnError tried && child.equals(tried.child);
    }

    @Override
    public int hashCode() {
        return 31 * child.hashCode() + 1;
    }
}
