package tidemark.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import tidemark.rows.Nullable;

class EventCountsTest {
    /** Counts rows whose numbers are in a range; with each of them all of its properties change. */
    private static EventCounts counted(int from, int to) {
        EventCounts counts = new EventCounts();
        for (int row = from; row < to; row++) {
            int object = row % 4;
            String kind = row % 3 == 0 ? null : "adjusted,late";
            counts.addHash(row, 7L * row);
            counts.addToObject(object, row % 5 == 0);
            counts.addRow(
                UTF8String.fromString("p" + row % 2), kind, object, 100 + row, row % 7 == 0 ? Nullable.NONE : row,
                1000 - row, row);
            counts.addUnknown(UTF8String.fromString("name" + row % 3), object);
            counts.addMove(row % 5 * 1000L + 1); // few sizes: a hash map lists them in one order
            counts.addBroken(row % 4, 100 - row);
        }
        return counts;
    }

    @Test
    @DisplayName("merging counts of two sets of rows gives the counts of all rows, in either order")
    void merged() {
        List<Object> together = counted(0, 60).toList();
        EventCounts forward = counted(0, 23);
        forward.merge(counted(23, 60));
        EventCounts backward = counted(23, 60);
        backward.merge(counted(0, 23));
        assertEquals(together, forward.toList());
        assertEquals(together, backward.toList());
    }

    @Test
    @DisplayName("a row is counted by object, partition, kind, move, offset and broken rule")
    void oneRow() {
        EventCounts counts = new EventCounts();
        counts.addHash(5, 6);
        counts.addToObject(3, true);
        counts.addRow(UTF8String.fromString("p"), null, 3, 10, 11, 12, 13);
        counts.addMove(123_456);
        counts.addBroken(0b101, 13);
        assertEquals(
            "[1, 6, 5, [[3, 1, 1]], [[p, 123456, [[123000, 1]], [[null, 1, 10, 10, 12, 13, 11, 10, 3]], "
                + "[13, 13, 13, 169], [[0, 1, 13, null, null, null, null], [2, 1, 13, null, null, null, null]]]], "
                + "null]",
            counts.toList().toString());
    }

    @Test
    @DisplayName("rows of several objects and partitions are counted apart in any order")
    void mixed() {
        EventCounts counts = new EventCounts();
        for (int object : new int[] {2, 0, 0, 2, 1, 0}) {
            counts.addToObject(object, object == 1);
            counts.addRow(UTF8String.fromString("p" + object), null, object, 0, 0, 0, object);
        }
        assertEquals("[[0, 3, 0], [1, 1, 1], [2, 2, 0]]", counts.toList().get(3).toString());
        String partitions = counts.toList().get(4).toString();
        assertTrue(partitions.contains("[p0, null, [], [[null, 3, 0, 0, 0, 0, 0, 0, 0]], [0, 0, 0, 0], []]"));
        assertTrue(partitions.contains("[p2, null, [], [[null, 2, 0, 0, 0, 2, 0, 0, 2]], [2, 2, 4, 8], []]"));
    }

    @Test
    @DisplayName("of a kind the row with the lowest offset is kept, and of a broken rule the five lowest offsets")
    void lowest() {
        PartitionCounts counts = new PartitionCounts();
        for (long offset : new long[] {9, 4, 8, 2, 2, 7, 5}) {
            counts.addRow("k", (int) offset, 10 * offset, Nullable.NONE, offset, offset);
            counts.addBroken(1, offset);
        }
        assertEquals(
            "[p, null, [], [[k, 7, 20, 90, 9, 2, null, 20, 2]], [2, 9, 37, 243], [[0, 7, 2, 2, 4, 5, 7]]]",
            counts.toList("p").toString());
    }

    @Test
    @DisplayName("sizes of moves are cut to three digits")
    void sizes() {
        long[][] cut = {{0, 0}, {999, 999}, {1000, 1000}, {1009, 1000}, {987_654_321, 987_000_000}};
        for (long[] each : cut) {
            assertEquals(each[1], PartitionCounts.sizeOf(PartitionCounts.rounded(each[0])));
        }
        assertEquals(922 + 16 * 1000, PartitionCounts.rounded(Long.MAX_VALUE));
    }

    @Test
    @DisplayName("an accumulator starts at nothing, copies what it has, and can be reset")
    void accumulated() throws IOException {
        var total = new EventCountsAccumulator();
        assertTrue(total.isZero());
        total.add(counted(0, 9));
        var copy = total.copy();
        var other = new EventCountsAccumulator();
        other.add(counted(9, 20));
        total.merge(other);
        assertEquals(counted(0, 20).toList(), total.value().toList());
        assertEquals(counted(0, 9).toList(), copy.value().toList());
        total.reset();
        assertTrue(total.isZero());
        assertFalse(copy.isZero());
    }

    @Test
    @DisplayName("packed counts are JSON in gzip")
    void packed() throws IOException {
        var total = new EventCountsAccumulator();
        total.add(counted(0, 9));
        List<byte[]> parts = total.packed();
        assertEquals(1, parts.size());
        var unpacked = new GZIPInputStream(new ByteArrayInputStream(parts.get(0)));
        var mapper = new ObjectMapper();
        assertEquals(mapper.valueToTree(total.value().toList()).toString(), mapper.readTree(unpacked).toString());
    }
}
