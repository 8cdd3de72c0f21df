package tidemark.plans;

import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Plans rows once: before the plan runs, and not again after each of its shuffles; or, for plans that are bound to
 * other leaves later, without looking at what the leaves hold. This happens in sessions beside the rows' own, with
 * its settings but for those that matter here.
 */
public final class StaticPlan {
    private static final String ADAPTIVE = "spark.sql.adaptive.enabled";
    private static final String PARTITIONS = "spark.sql.shuffle.partitions";
    private static final String EXCLUDED_RULES = "spark.sql.optimizer.excludedRules";
    private static final String RULES = "org.apache.spark.sql.catalyst.optimizer.";
    private static final String RULES_FOR_LEAVES =
        RULES + "ConvertToLocalRelation," + RULES + "PropagateEmptyRelation";

    private static final Map<SparkSession, SparkSession> WITHOUT_ADAPTION = new WeakHashMap<>();
    private static final Map<SparkSession, SparkSession> SIMPLIFYING = new WeakHashMap<>();

    private StaticPlan() {
    }

    /**
     * Returns rows whose plan is made once; shuffles without a number of partitions of their own get `partitions`.
     */
    public static Dataset<Row> of(Dataset<Row> rows, int partitions) {
        var known = (org.apache.spark.sql.classic.Dataset<Row>) rows;
        Map<String, String> settings = Map.of(ADAPTIVE, "false", PARTITIONS, Integer.toString(partitions));
        SparkSession session = sessionBeside(known.sparkSession(), settings, WITHOUT_ADAPTION);
        return org.apache.spark.sql.classic.Dataset.ofRows(session, known.queryExecution().analyzed());
    }

    /** Returns rows whose plan has been simplified whatever its leaves hold: they stay leaves. */
    public static Dataset<Row> simplified(Dataset<Row> rows) {
        var known = (org.apache.spark.sql.classic.Dataset<Row>) rows;
        SparkSession own = known.sparkSession();
        SparkSession session = sessionBeside(own, Map.of(EXCLUDED_RULES, RULES_FOR_LEAVES), SIMPLIFYING);
        LogicalPlan plan = org.apache.spark.sql.classic.Dataset.ofRows(session, known.queryExecution().analyzed())
            .queryExecution().optimizedPlan();
        return org.apache.spark.sql.classic.Dataset.ofRows(own, plan);
    }

    private static synchronized SparkSession sessionBeside(
            SparkSession own, Map<String, String> changes, Map<SparkSession, SparkSession> kept) {
        SparkSession beside = kept.computeIfAbsent(own, SparkSession::cloneSession);
        Map<String, String> wanted = new HashMap<>(settings(own));
        wanted.putAll(changes);
        SQLConf conf = beside.sessionState().conf();
        for (String name : settings(beside).keySet()) {
            if (!wanted.containsKey(name)) {
                conf.unsetConf(name);
            }
        }
        wanted.forEach(conf::setConfString);
        return beside;
    }

    /** Returns a copy of a session's settings. */
    private static Map<String, String> settings(SparkSession session) {
        return Map.copyOf(CollectionConverters.asJava(session.sessionState().conf().getAllConfs()));
    }
}
