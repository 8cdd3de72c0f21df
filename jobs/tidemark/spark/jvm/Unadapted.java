package tidemark;

import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Rows whose plan is made once, before it runs, and not anew after each of its shuffles: in a session beside their own,
 * which has its settings but for that.
 */
public final class Unadapted {
    private static final String ADAPTIVE = "spark.sql.adaptive.enabled";
    private static final String PARTITIONS = "spark.sql.shuffle.partitions";

    private static final Map BESIDE = new WeakHashMap();

    private Unadapted() {
    }

    /** The same rows; shuffles that do not say into how many partitions have as many as are given. */
    public static Dataset of(Dataset rows, int partitions) {
        org.apache.spark.sql.classic.Dataset known = (org.apache.spark.sql.classic.Dataset) rows;
        SparkSession session = beside(known.sparkSession(), partitions);
        return org.apache.spark.sql.classic.Dataset.ofRows(session, known.queryExecution().analyzed());
    }

    private static synchronized SparkSession beside(SparkSession own, int partitions) {
        SparkSession beside = (SparkSession) BESIDE.get(own);
        if (beside == null) {
            beside = own.cloneSession();
            BESIDE.put(own, beside);
        }
        Map told = settings(own);
        told.put(ADAPTIVE, "false");
        told.put(PARTITIONS, Integer.toString(partitions));
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
