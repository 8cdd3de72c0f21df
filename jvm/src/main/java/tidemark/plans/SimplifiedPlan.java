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
 * Simplifies plans that are bound to other leaves later, without looking at what the leaves hold. This happens in a
 * session beside the rows' own, with its settings but for the rules that look at leaves.
 */
public final class SimplifiedPlan {
    private static final String EXCLUDED_RULES = "spark.sql.optimizer.excludedRules";
    private static final String RULES = "org.apache.spark.sql.catalyst.optimizer.";
    private static final String RULES_FOR_LEAVES =
        RULES + "ConvertToLocalRelation," + RULES + "PropagateEmptyRelation";

    private static final Map<SparkSession, SparkSession> BESIDE = new WeakHashMap<>();

    private SimplifiedPlan() {
    }

    /** Returns rows whose plan has been simplified whatever its leaves hold: they stay leaves. */
    public static Dataset<Row> of(Dataset<Row> rows) {
        var known = (org.apache.spark.sql.classic.Dataset<Row>) rows;
        SparkSession own = known.sparkSession();
        LogicalPlan analyzed = known.queryExecution().analyzed();
        LogicalPlan plan = org.apache.spark.sql.classic.Dataset.ofRows(sessionBeside(own), analyzed)
            .queryExecution().optimizedPlan();
        return org.apache.spark.sql.classic.Dataset.ofRows(own, plan);
    }

    private static synchronized SparkSession sessionBeside(SparkSession own) {
        SparkSession beside = BESIDE.computeIfAbsent(own, SparkSession::cloneSession);
        Map<String, String> wanted = new HashMap<>(settings(own));
        wanted.put(EXCLUDED_RULES, RULES_FOR_LEAVES);
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
