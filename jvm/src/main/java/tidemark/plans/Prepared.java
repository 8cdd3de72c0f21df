package tidemark.plans;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import scala.Option;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A plan that has been analyzed, with other leaves: files in place of its files, local frames in place of those with
 * the same columns. All else stays as it is, names of columns included, so that code compiled for it serves again.
 * Files are named: how they are read the plan knows, and asking Spark's reader again takes longer than listing them.
 */
public final class Prepared {
    private static final String FILES = "files";
    private static final String PATH = "path";
    private static final String BASE = "basePath";

    private final SparkSession spark;
    private final String base;
    private final List paths;
    private final Map given = new HashMap();
    private final Set used = new HashSet();
    private HadoopFsRelation files;

    private Prepared(SparkSession spark, String base, List paths, List leaves) {
        this.spark = spark;
        this.base = base;
        this.paths = paths;
        for (int index = 0; index < leaves.size(); index++) {
            LogicalPlan leaf = analyzed((Dataset) leaves.get(index));
            this.given.put(nameOf(leaf), leaf);
        }
    }

    /** The rows of the plan over the files of these paths and these leaves, all of which it has; any other is no leaf of
     * such a plan, and files that it has more than once are the same each time. `base` is the folder of a table whose files these are, or null. */
    public static Dataset bound(SparkSession spark, Dataset prepared, String base, List paths, List leaves)
            throws IOException {
        Prepared binding = new Prepared(spark, base, paths, leaves);
        LogicalPlan plan = binding.bound(analyzed(prepared));
        if (binding.used.size() != leaves.size() + 1) {
            throw new IllegalStateException("of " + FILES + " and " + binding.given.keySet() + ", the plan has " + binding.used);
        }
        return org.apache.spark.sql.classic.Dataset.ofRows((org.apache.spark.sql.classic.SparkSession) spark, plan);
    }

    private LogicalPlan bound(LogicalPlan plan) throws IOException {
        if (Scala.list(plan.children()).isEmpty()) {
            return leaf(plan);
        }
        List children = new ArrayList();
        Iterator each = plan.children().iterator();
        while (each.hasNext()) {
            children.add(bound((LogicalPlan) each.next()));
        }
        return (LogicalPlan) plan.withNewChildren(CollectionConverters.asScala(children).toSeq());
    }

    private LogicalPlan leaf(LogicalPlan old) throws IOException {
        if (old instanceof LogicalRelation) {
            LogicalRelation read = (LogicalRelation) old;
            this.used.add(FILES);
            if (this.files == null) {
                this.files = listed((HadoopFsRelation) read.relation());
            }
            return read.copy(
                this.files, read.output(), read.catalogTable(), read.isStreaming(), read.stream());
        }
        String name = nameOf(old);
        LocalRelation found = (LocalRelation) this.given.get(name);
        if (found == null) {
            throw new IllegalStateException("nothing is given for the leaf " + old);
        }
        this.used.add(name);
        return ((LocalRelation) old).copy(((LocalRelation) old).output(), found.data(), false, Option.empty());
    }

    /** Files as those of another relation are read; as Spark's reader does, it is an error if one is not there. */
    private HadoopFsRelation listed(HadoopFsRelation old) throws IOException {
        scala.collection.immutable.Map options = (scala.collection.immutable.Map) old.options().$minus(PATH).$minus(BASE);
        if (this.base != null) {
            options = (scala.collection.immutable.Map) options.updated(BASE, this.base);
        }
        Configuration settings =
            ((org.apache.spark.sql.classic.SparkSession) this.spark).sessionState().newHadoopConfWithOptions(options);
        List roots = new ArrayList();
        for (int index = 0; index < this.paths.size(); index++) {
            Path path = new Path((String) this.paths.get(index));
            roots.add(path.getFileSystem(settings).makeQualified(path));
        }
        InMemoryFileIndex found = new InMemoryFileIndex(
            this.spark, CollectionConverters.asScala(roots).toSeq(), options, Option.apply(old.schema()), NoopCache$.MODULE$,
            Option.empty(), Option.empty());
        if (Scala.list(found.allFiles()).size() != roots.size()) {
            throw new FileNotFoundException("of " + this.paths + ", there are only " + found.allFiles());
        }
        return old.copy(
            found, old.partitionSchema(), old.dataSchema(), old.bucketSpec(), old.fileFormat(), options, this.spark);
    }

    private static LogicalPlan analyzed(Dataset rows) {
        return ((org.apache.spark.sql.classic.Dataset) rows).queryExecution().analyzed();
    }

    /** The names and types of a local frame's columns. */
    private static String nameOf(LogicalPlan leaf) {
        StringBuilder name = new StringBuilder();
        Iterator columns = leaf.output().iterator();
        while (columns.hasNext()) {
            Attribute column = (Attribute) columns.next();
            name.append(column.name()).append(' ').append(column.dataType().sql()).append(", ");
        }
        return name.toString();
    }
}
