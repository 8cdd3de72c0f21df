package tidemark.expressions;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.ConditionalExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Seq$;
import scala.collection.mutable.Builder;
import tidemark.plans.Scala;

/**
 * An expression, or null where it cannot be computed: where it raises an exception, or asks for more stack or memory
 * than there is. Spark's own `TryEval` is not enough. It catches exceptions only, and as an expression of one part it
 * is moved into the branches of that. As a conditional expression this one keeps Spark from computing a part of it
 * ahead, where nothing would catch what that raises.
 */
public final class Tried extends Expression implements ConditionalExpression, java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private final Expression child;

    public Tried(Expression child) {
        this.child = child;
    }

    public Seq children() {
        return seq(new Object[] {this.child});
    }

    @Override
    public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
        return new Tried(Scala.list(children).get(0));
    }

    public boolean foldable() {
        return false;
    }

    public boolean nullable() {
        return true;
    }

    public DataType dataType() {
        return this.child.dataType();
    }

    public int productArity() {
        return 1;
    }

    public Object productElement(int index) {
        return this.child;
    }

    public boolean canEqual(Object other) {
        return other instanceof Tried;
    }

    public Object eval(InternalRow input) {
        try {
            return this.child.eval(input);
        } catch (Exception failed) {
            return null;
        } catch (StackOverflowError failed) {
            return null;
        } catch (OutOfMemoryError failed) {
            return null;
        }
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode tried = this.child.genCode(context);
        Seq parts = seq(new Object[] {
            "\nboolean ", " = true;\n" + CodeGenerator.javaType(dataType()) + " ",
            " = " + CodeGenerator.defaultValue(dataType(), false) + ";\ntry {\n", "\n", " = ", ";\n", " = ",
            ";\n} catch (Exception failed) {\n} catch (StackOverflowError failed) {\n"
                + "} catch (OutOfMemoryError failed) {\n}\n"});
        Seq inputs = seq(new Object[] {
            code.isNull(), code.value(), tried.code(), code.isNull(), tried.isNull(), code.value(), tried.value()});
        return new ExprCode((Block) new CodeBlock(parts, inputs), code.isNull(), code.value());
    }

    public Seq alwaysEvaluatedInputs() {
        return seq(new Object[0]);
    }

    public ConditionalExpression withNewAlwaysEvaluatedInputs(Seq inputs) {
        return this;
    }

    public Seq branchGroups() {
        return seq(new Object[0]);
    }

    public boolean equals(Object other) {
        return other instanceof Tried && this.child.equals(((Tried) other).child);
    }

    public int hashCode() {
        return 31 * this.child.hashCode() + 1;
    }

    private static Seq seq(Object[] values) {
        Builder found = Seq$.MODULE$.newBuilder();
        for (int index = 0; index < values.length; index++) {
            found.addOne(values[index]);
        }
        return (Seq) found.result();
    }
}
