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
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import scala.Option;

/**
 * Binds an analyzed plan to other leaves: to other files in place of its own, and to local frames in place of those
 * with equal columns. The rest of the plan is kept, names of columns included, so that its compiled code serves
 * again. The plan knows how files are read; asking Spark's reader again takes longer than listing them.
 */
public final class PlanBinding {
    private static final String FILES = "files";
    private static final String PATH = "path";
    private static final String BASE_PATH = "basePath";

    private final SparkSession spark;
    private final String base;
    private final List<String> paths;
    private final Map<String, LocalRelation> frames = new HashMap<>();
    private final Set<String> used = new HashSet<>();
    private HadoopFsRelation files;

    private PlanBinding(SparkSession spark, String base, List<String> paths, List<Dataset<Row>> frames) {
        this.spark = spark;
        this.base = base;
        this.paths = paths;
        for (Dataset<Row> frame : frames) {
            LocalRelation leaf = (LocalRelation) analyzed(frame);
            this.frames.put(columnsOf(leaf), leaf);
        }
    }

    /**
     * Returns the rows of a plan over the files at these paths and over these local frames. Files that the plan reads
     * several times are replaced each time. `base` is the folder of the table that has the files, or null.
     *
     * @throws IllegalStateException if the plan has other leaves, or lacks one that is given
     * @throws IOException if a file is missing or cannot be listed
     */
    public static Dataset<Row> bind(
            SparkSession spark, Dataset<Row> prepared, String base, List<String> paths, List<Dataset<Row>> frames)
            throws IOException {
        var binding = new PlanBinding(spark, base, paths, frames);
        LogicalPlan plan = binding.bound(analyzed(prepared));
        if (binding.used.size() != frames.size() + 1) {
            throw new IllegalStateException(
                "of " + FILES + " and " + binding.frames.keySet() + ", the plan has " + binding.used);
        }
        return org.apache.spark.sql.classic.Dataset.ofRows((org.apache.spark.sql.classic.SparkSession) spark, plan);
    }

    private LogicalPlan bound(LogicalPlan plan) throws IOException {
        List<LogicalPlan> children = Scala.list(plan.children());
        if (children.isEmpty()) {
            return boundLeaf(plan);
        }
        List<LogicalPlan> bound = new ArrayList<>();
        for (LogicalPlan child : children) {
            bound.add(bound(child));
        }
        return plan.withNewChildren(Scala.seq(bound));
    }

    private LogicalPlan boundLeaf(LogicalPlan leaf) throws IOException {
        if (leaf instanceof LogicalRelation read) {
            used.add(FILES);
            if (files == null) {
                files = listed((HadoopFsRelation) read.relation());
            }
            return read.copy(files, read.output(), read.catalogTable(), read.isStreaming(), read.stream());
        }
        String columns = columnsOf(leaf);
        LocalRelation frame = frames.get(columns);
        if (frame == null) {
            throw new IllegalStateException("nothing is given for the leaf " + leaf);
        }
        used.add(columns);
        return ((LocalRelation) leaf).copy(leaf.output(), frame.data(), false, Option.empty());
    }

    /** Returns the given files, to be read as `old` is. As with Spark's reader, a missing file is an error. */
    @SuppressWarnings("unchecked") // Java cannot see the type of an updated map
    private HadoopFsRelation listed(HadoopFsRelation old) throws IOException {
        scala.collection.immutable.Map<String, String> options = old.options().removed(PATH).removed(BASE_PATH);
        if (base != null) {
            options = (scala.collection.immutable.Map<String, String>) options.updated(BASE_PATH, base);
        }
        Configuration settings =
            ((org.apache.spark.sql.classic.SparkSession) spark).sessionState().newHadoopConfWithOptions(options);
        List<Path> roots = new ArrayList<>();
        for (String each : paths) {
            Path path = new Path(each);
            roots.add(path.getFileSystem(settings).makeQualified(path));
        }
        var found = new InMemoryFileIndex(
            spark, Scala.seq(roots), options, Option.apply(old.schema()), NoopCache$.MODULE$, Option.empty(),
            Option.empty());
        if (Scala.list(found.allFiles()).size() != roots.size()) {
            throw new FileNotFoundException("of " + paths + ", there are only " + found.allFiles());
        }
        return old.copy(
            found, old.partitionSchema(), old.dataSchema(), old.bucketSpec(), old.fileFormat(), options, spark);
    }

    private static LogicalPlan analyzed(Dataset<Row> rows) {
        return ((org.apache.spark.sql.classic.Dataset<Row>) rows).queryExecution().analyzed();
    }

    /** Returns the names and types of a local frame's columns. */
    private static String columnsOf(LogicalPlan leaf) {
        StringBuilder columns = new StringBuilder();
        for (Attribute column : Scala.list(leaf.output())) {
            columns.append(column.name()).append(' ').append(column.dataType().sql()).append(", ");
        }
        return columns.toString();
    }
}
