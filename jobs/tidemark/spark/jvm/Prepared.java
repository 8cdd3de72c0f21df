package tidemark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A plan that has been analyzed, with other leaves: files in place of its files, local frames in place of those with
 * the same columns. All else stays as it is, names of columns included, so that code compiled for it serves again.
 */
public final class Prepared {
    private static final String FILES = "";

    private final Map given = new HashMap();
    private final List used = new ArrayList();

    private Prepared(List leaves) {
        for (int index = 0; index < leaves.size(); index++) {
            LogicalPlan leaf = analyzed((Dataset) leaves.get(index));
            this.given.put(nameOf(leaf), leaf);
        }
    }

    /** The rows of the plan over these leaves, of which it has each once; any other is no leaf of such a plan. */
    public static Dataset bound(SparkSession spark, Dataset prepared, List leaves) {
        Prepared binding = new Prepared(leaves);
        LogicalPlan plan = binding.bound(analyzed(prepared));
        if (binding.used.size() != leaves.size()) {
            throw new IllegalStateException("of " + binding.given.keySet() + ", the plan has " + binding.used);
        }
        return org.apache.spark.sql.classic.Dataset.ofRows((org.apache.spark.sql.classic.SparkSession) spark, plan);
    }

    private LogicalPlan bound(LogicalPlan plan) {
        if (plan.children().isEmpty()) {
            return leaf(plan);
        }
        List children = new ArrayList();
        Iterator each = plan.children().iterator();
        while (each.hasNext()) {
            children.add(bound((LogicalPlan) each.next()));
        }
        return (LogicalPlan) plan.withNewChildren(CollectionConverters.asScala(children).toSeq());
    }

    private LogicalPlan leaf(LogicalPlan old) {
        String name = nameOf(old);
        LogicalPlan found = (LogicalPlan) this.given.get(name);
        if (found == null) {
            throw new IllegalStateException("nothing is given for the leaf " + old);
        }
        this.used.add(name);
        if (found instanceof LocalRelation) {
            return ((LocalRelation) old).copy(((LocalRelation) old).output(), ((LocalRelation) found).data(), false, Option.empty());
        }
        LogicalRelation files = (LogicalRelation) old;
        return files.copy(
            ((LogicalRelation) found).relation(), files.output(), files.catalogTable(), files.isStreaming(), files.stream());
    }

    private static LogicalPlan analyzed(Dataset rows) {
        return ((org.apache.spark.sql.classic.Dataset) rows).queryExecution().analyzed();
    }

    /** The names and types of a local frame's columns; files are nameless. */
    private static String nameOf(LogicalPlan leaf) {
        if (leaf instanceof LogicalRelation) {
            return FILES;
        }
        StringBuilder name = new StringBuilder();
        Iterator columns = leaf.output().iterator();
        while (columns.hasNext()) {
            Attribute column = (Attribute) columns.next();
            name.append(column.name()).append(' ').append(column.dataType().sql()).append(", ");
        }
        return name.toString();
    }
}
