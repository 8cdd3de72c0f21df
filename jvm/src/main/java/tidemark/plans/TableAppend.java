package tidemark.plans;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaConfigs;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.DeltaOptions;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.actions.SetTransaction;
import org.apache.spark.sql.delta.commands.WriteIntoDelta;
import scala.Option;
import scala.Some;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * An append as Delta's own command makes it (`WriteIntoDelta.run`), which asks the checksum of the table's version
 * whether it was made before. Delta would ask the state of the whole table, which lists all live files, and those
 * grow with history. Without a checksum this does as Delta does. In either case Delta learns that the transaction
 * depends on the answer, so that of two at once one fails.
 */
public final class TableAppend {
    private final WriteIntoDelta write;
    private final SparkSession spark;
    private final String application;
    private final long version;

    private TableAppend(WriteIntoDelta write, SparkSession spark, String application, long version) {
        this.write = write;
        this.spark = spark;
        this.application = application;
        this.version = version;
    }

    /**
     * Appends rows once for an application and version. `options` are those of a Delta write, `settings` the table's.
     * Returns the version of the table that this made, -1 if the append was made before.
     */
    public static long appendOnce(
            SparkSession spark, String place, Dataset<Row> rows, Seq<String> partitionBy, Map<String, String> options,
            Map<String, String> settings, String application, long version) {
        var write = new WriteIntoDelta(
            DeltaLog.forTable(spark, place), SaveMode.Append, new DeltaOptions(options, spark.sessionState().conf()),
            partitionBy, DeltaConfigs.validateConfigurations(settings), rows, Option.empty(), Option.empty(), false);
        var append = new TableAppend(write, spark, application, version);
        return write.deltaLog().withNewTransaction(Option.empty(), Option.empty(), append::run);
    }

    private long run(OptimisticTransaction transaction) {
        if (wasMade(transaction)) {
            return -1;
        }
        var written = write.writeAndReturnCommitData(transaction, spark, Option.empty(), false);
        Option<Object> yes = new Some<>(true);
        DeltaOptions options = write.options();
        var operation = new DeltaOperations.Write(
            write.mode(), new Some<>(write.partitionColumns()), options.replaceWhere(), options.userMetadata(),
            options.isDynamicPartitionOverwriteMode() ? yes : Option.empty(),
            options.canOverwriteSchema() ? yes : Option.empty(), options.canMergeSchema() ? yes : Option.empty(),
            options.replaceOn(), options.replaceUsing());
        transaction.commitIfNeeded(written.actions(), operation, written.stringTags());
        var committed = transaction.getCommitted();
        return committed.isEmpty() ? -1 : committed.get().committedVersion();
    }

    /** Returns true if the application has recorded this version or a later one. */
    private boolean wasMade(OptimisticTransaction transaction) {
        Option<VersionChecksum> checksum = transaction.snapshot().checksumOpt();
        if (checksum.isEmpty() || checksum.get().setTransactions().isEmpty()) {
            return write.hasBeenExecuted(transaction, spark, new Some<>(write.options()));
        }
        transaction.readTxn().$plus$eq(application);
        for (SetTransaction recorded : Scala.list(checksum.get().setTransactions().get())) {
            if (recorded.appId().equals(application)) {
                return recorded.version() >= version;
            }
        }
        return false;
    }
}
