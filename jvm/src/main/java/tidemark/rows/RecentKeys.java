package tidemark.rows;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/**
 * Finds duplicates among the rows of sorted partitions: rows whose key an earlier row of the partition had, at most a
 * given time before. Keys are hashes of 16 bytes. Those that no later row can repeat are forgotten when room runs out:
 * arrivals of a partition never go back.
 */
public final class RecentKeys implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final int LEAST_ROOM = 64;

    private final long within;
    private transient UTF8String partition;
    private transient long[] highs;
    private transient long[] lows;
    /** The last arrival of each key; `NONE` where there is no key. */
    private transient long[] arrivals;
    private transient int used;

    /** Makes the memory of one task; see `function`. */
    RecentKeys(long within) {
        this.within = within;
    }

    /**
     * Returns a BOOLEAN column that is true for duplicates. The arguments are those of `isRepeated`.
     *
     * @param within microseconds after a row in which others with its key are duplicates
     */
    public static Column function(Seq<Column> arguments, long within) {
        return Invoked.inTurn(new RecentKeys(within), "isRepeated", DataTypes.BooleanType, arguments);
    }

    /**
     * Returns true if the key has been seen in the partition less than `within` before, then remembers it.
     *
     * @param partition the row's partition, not null; the rows of one follow each other
     * @param key the key; null for a row that is no duplicate and makes none
     * @param arrival the arrival in microseconds, not before that of an earlier row with the key
     */
    public boolean isRepeated(UTF8String partition, byte[] key, long arrival) {
        if (this.partition == null || !this.partition.equals(partition)) {
            this.partition = partition.copy();
            makeRoom(LEAST_ROOM);
        }
        if (key == null) {
            return false;
        }
        ByteBuffer halves = ByteBuffer.wrap(key);
        long high = halves.getLong();
        long low = halves.getLong();
        int place = placeOf(high, low);
        long before = this.arrivals[place];
        if (before == Nullable.NONE) {
            if (2 * (this.used + 1) > this.arrivals.length) {
                forget(arrival);
                place = placeOf(high, low);
            }
            this.highs[place] = high;
            this.lows[place] = low;
            this.used++;
        }
        this.arrivals[place] = arrival;
        return before != Nullable.NONE && before > arrival - this.within;
    }

    /** Returns the number of keys in memory. */
    int size() {
        return this.used;
    }

    /** Returns the place of a key, or the free one where it belongs. */
    private int placeOf(long high, long low) {
        int mask = this.arrivals.length - 1;
        int place = (int) (low ^ (low >>> 32)) & mask;
        while (this.arrivals[place] != Nullable.NONE && (this.highs[place] != high || this.lows[place] != low)) {
            place = (place + 1) & mask;
        }
        return place;
    }

    /** Keeps the keys that a row arriving now may repeat, with as much room again. */
    private void forget(long now) {
        long[] oldHighs = this.highs;
        long[] oldLows = this.lows;
        long[] oldArrivals = this.arrivals;
        int kept = 0;
        for (long arrival : oldArrivals) {
            kept += isRecent(arrival, now) ? 1 : 0;
        }
        makeRoom(Math.max(LEAST_ROOM, Integer.highestOneBit(kept + 1) << 2));
        for (int old = 0; old < oldArrivals.length; old++) {
            if (isRecent(oldArrivals[old], now)) {
                int place = placeOf(oldHighs[old], oldLows[old]);
                this.highs[place] = oldHighs[old];
                this.lows[place] = oldLows[old];
                this.arrivals[place] = oldArrivals[old];
                this.used++;
            }
        }
    }

    private boolean isRecent(long arrival, long now) {
        return arrival != Nullable.NONE && arrival > now - this.within;
    }

    private void makeRoom(int room) {
        this.highs = new long[room];
        this.lows = new long[room];
        this.arrivals = new long[room];
        Arrays.fill(this.arrivals, Nullable.NONE);
        this.used = 0;
    }
}
