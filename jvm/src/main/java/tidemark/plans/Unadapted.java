package tidemark.plans;

import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Rows whose plan is made once, before it runs, and not anew after each of its shuffles; and those whose plan is
 * simplified once, before other leaves are bound to it: in sessions beside their own, which have its settings but for that.
 */
public final class Unadapted {
    private static final String ADAPTIVE = "spark.sql.adaptive.enabled";
    private static final String PARTITIONS = "spark.sql.shuffle.partitions";
    private static final String LEFT_OUT = "spark.sql.optimizer.excludedRules";
    private static final String RULES = "org.apache.spark.sql.catalyst.optimizer.";
    private static final String OF_LEAVES = RULES + "ConvertToLocalRelation," + RULES + "PropagateEmptyRelation";

    private static final Map ONCE = new WeakHashMap();
    private static final Map SIMPLIFYING = new WeakHashMap();

    private Unadapted() {
    }

    /** The same rows; shuffles that do not say into how many partitions have as many as are given. */
    public static Dataset of(Dataset rows, int partitions) {
        org.apache.spark.sql.classic.Dataset known = (org.apache.spark.sql.classic.Dataset) rows;
        Map other = new HashMap();
        other.put(ADAPTIVE, "false");
        other.put(PARTITIONS, Integer.toString(partitions));
        SparkSession session = beside(known.sparkSession(), other, ONCE);
        return org.apache.spark.sql.classic.Dataset.ofRows(session, known.queryExecution().analyzed());
    }

    /** The same rows, of a plan that has been simplified whatever its leaves hold: they stay leaves. */
    public static Dataset simplified(Dataset rows) {
        org.apache.spark.sql.classic.Dataset known = (org.apache.spark.sql.classic.Dataset) rows;
        SparkSession own = known.sparkSession();
        Map other = new HashMap();
        other.put(LEFT_OUT, OF_LEAVES);
        SparkSession session = beside(own, other, SIMPLIFYING);
        LogicalPlan plan = org.apache.spark.sql.classic.Dataset.ofRows(session, known.queryExecution().analyzed())
            .queryExecution().optimizedPlan();
        return org.apache.spark.sql.classic.Dataset.ofRows(own, plan);
    }

    private static synchronized SparkSession beside(SparkSession own, Map other, Map kept) {
        SparkSession beside = (SparkSession) kept.get(own);
        if (beside == null) {
            beside = own.cloneSession();
            kept.put(own, beside);
        }
        Map told = settings(own);
        told.putAll(other);
        SQLConf conf = beside.sessionState().conf();
        for (Object old : settings(beside).keySet()) {
            if (!told.containsKey(old)) {
                conf.unsetConf((String) old);
            }
        }
        for (Object entry : told.entrySet()) {
            conf.setConfString((String) ((Map.Entry) entry).getKey(), (String) ((Map.Entry) entry).getValue());
        }
        return beside;
    }

    private static Map settings(SparkSession session) {
        Map found = new HashMap();
        Iterator settings = session.sessionState().conf().getAllConfs().iterator();
        while (settings.hasNext()) {
            Tuple2 setting = (Tuple2) settings.next();
            found.put(setting._1(), setting._2());
        }
        return found;
    }
}
