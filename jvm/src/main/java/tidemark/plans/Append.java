package tidemark.plans;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.CommittedTransaction;
import org.apache.spark.sql.delta.DeltaConfigs;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOptions;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.actions.SetTransaction;
import org.apache.spark.sql.delta.commands.WriteIntoDelta;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Delta's own append, which asks the checksum of the table's version whether it has been made before, and not the
 * state of the whole table: that lists all live files, which grow with history. Without a checksum it does as Delta
 * does. That the transaction depends on the answer is told to Delta either way, so that of two at once one fails.
 */
public final class Append extends WriteIntoDelta {
    private static final long serialVersionUID = 1L;

    private final String application;
    private final long version;
    private OptimisticTransaction begun;

    private Append(
            DeltaLog log, DeltaOptions options, Seq partitionBy, Map settings, Dataset rows, String application,
            long version) {
        super(log, SaveMode.Append, options, partitionBy, settings, rows, Option.empty(), Option.empty(), false);
        this.application = application;
        this.version = version;
    }

    /**
     * Append rows once for an application and version; `options` are those of a Delta write, `settings` the table's.
     * Returns the version of the table that this made, -1 if it had been made before.
     */
    public static long run(
            SparkSession spark, String place, Dataset rows, Seq partitionBy, Map options, Map settings,
            String application, long version) {
        DeltaOptions known = new DeltaOptions(options, spark.sessionState().conf());
        Map checked = DeltaConfigs.validateConfigurations(settings);
        DeltaLog log = DeltaLog.forTable(spark, place);
        Append append = new Append(log, known, partitionBy, checked, rows, application, version);
        append.run(spark);
        Option committed = append.begun.getCommitted();
        return committed.isEmpty() ? -1L : ((CommittedTransaction) committed.get()).committedVersion();
    }

    public boolean hasBeenExecuted(OptimisticTransaction transaction, SparkSession spark, Option options) {
        this.begun = transaction;
        Option checksum = transaction.snapshot().checksumOpt();
        if (checksum.isEmpty() || ((VersionChecksum) checksum.get()).setTransactions().isEmpty()) {
            return super.hasBeenExecuted(transaction, spark, options);
        }
        transaction.readTxn().$plus$eq(this.application);
        Iterator made = ((Seq) ((VersionChecksum) checksum.get()).setTransactions().get()).iterator();
        while (made.hasNext()) {
            SetTransaction one = (SetTransaction) made.next();
            if (one.appId().equals(this.application)) {
                return one.version() >= this.version;
            }
        }
        return false;
    }
}
