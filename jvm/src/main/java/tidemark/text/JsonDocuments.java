package tidemark.text;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;
import tidemark.plans.Scala;

/**
 * Splits an object's JSON documents into the texts of their rows, in the order of the object. With `members`, the
 * rows of a document are the elements of the array below these members, or of the document itself if the list is
 * empty. Without, each document is a row, and each element of one that is an array. From a document on that does not
 * parse, or has no such array, the rest of the object is one text, which begins with the reason and is no JSON. If
 * what follows a document is no JSON, that text has the document too, so that a replay of earlier batches is equal.
 */
public final class JsonDocuments implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Most bytes that are shown of the rest of an object. */
    private static final int MOST_SHOWN = 1 << 20;

    private final String[] members;
    private final Map<String, String> options;
    private final String unreadable;
    private final String unreadableRest;
    private transient JsonFactory factory;

    /** Takes the settings of `function`. */
    JsonDocuments(String[] members, Map<String, String> options, String unreadable, String unreadableRest) {
        this.members = members;
        this.options = options;
        this.unreadable = unreadable;
        this.unreadableRest = unreadableRest;
    }

    /**
     * Returns the rows as a column of arrays of text.
     *
     * @param object columns of an object's content and path
     * @param members names that lead to the array of rows, or null
     * @param options Spark's options for JSON
     * @param unreadable beginning of the text that replaces an object of which nothing is read
     * @param unreadableRest beginning of the text that replaces the rest of an object
     */
    public static Column function(
            Seq<Column> object, Seq<String> members, Map<String, String> options, String unreadable,
            String unreadableRest) {
        String[] path = members == null ? null : Scala.list(members).toArray(String[]::new);
        var documents = new JsonDocuments(path, options, unreadable, unreadableRest);
        return Invoked.inTurn(documents, "rows", DataTypes.createArrayType(DataTypes.StringType, false), object);
    }

    /**
     * Returns the rows of an object; of one with too many bytes, one text that says so. Throws IOException if its
     * compression is damaged.
     */
    public ArrayData rows(byte[] stored, UTF8String path) throws IOException {
        byte[] content = Decompression.decompress(stored, path);
        if (content == null) {
            String reason = this.unreadable + "a document is read whole, and it has more than "
                + Decompression.MOST_BYTES + " bytes";
            return new GenericArrayData(new Object[] {UTF8String.fromString(reason)});
        }
        return new GenericArrayData(split(content).toArray());
    }

    private List<UTF8String> split(byte[] content) throws IOException {
        List<UTF8String> rows = new ArrayList<>();
        long from = 0;
        try (JsonParser parser = factory().createParser(content)) {
            while (parser.nextToken() != null) {
                from = begin(parser);
                List<UTF8String> ofDocument = new ArrayList<>();
                addDocument(parser, content, ofDocument);
                rows.addAll(ofDocument);
            }
        } catch (JsonProcessingException broken) {
            rows.add(rest(content, (int) from, rows.isEmpty(), broken));
        }
        return rows;
    }

    private void addDocument(JsonParser parser, byte[] content, List<UTF8String> rows) throws IOException {
        if (this.members != null) {
            if (!addBelow(parser, 0, content, rows)) {
                throw new Unsuited(parser, "it has no member " + String.join(".", this.members));
            }
        } else if (parser.currentToken() == JsonToken.START_ARRAY) {
            addElements(parser, content, rows);
        } else {
            rows.add(value(parser, content));
        }
    }

    /** Adds the elements of the array below the members from this depth on; returns true if there is one. */
    private boolean addBelow(JsonParser parser, int depth, byte[] content, List<UTF8String> rows) throws IOException {
        if (depth == this.members.length) {
            if (parser.currentToken() != JsonToken.START_ARRAY) {
                throw new Unsuited(parser, "where the array of rows is to be, it has none");
            }
            addElements(parser, content, rows);
            return true;
        }
        if (parser.currentToken() != JsonToken.START_OBJECT) {
            parser.skipChildren();
            return false;
        }
        boolean found = false;
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            boolean named = parser.currentName().equals(this.members[depth]);
            parser.nextToken();
            if (named) {
                found |= addBelow(parser, depth + 1, content, rows);
            } else {
                parser.skipChildren();
            }
        }
        return found;
    }

    private static void addElements(JsonParser parser, byte[] content, List<UTF8String> rows) throws IOException {
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            rows.add(value(parser, content));
        }
    }

    /** Returns the text of the value that begins here, and moves the parser to its end. */
    private static UTF8String value(JsonParser parser, byte[] content) throws IOException {
        int from = (int) begin(parser);
        parser.skipChildren();
        parser.finishToken();
        int to = (int) parser.currentLocation().getByteOffset();
        while (isBlank(content[to - 1])) {
            to--;
        }
        return UTF8String.fromBytes(content, from, to - from);
    }

    private static boolean isBlank(byte each) {
        return each == ' ' || each == '\n' || each == '\r' || each == '\t';
    }

    private static long begin(JsonParser parser) throws JsonProcessingException {
        long from = parser.currentTokenLocation().getByteOffset();
        if (from < 0) {
            throw new Unsuited(parser, "it is no UTF-8");
        }
        return from;
    }

    /** Returns the text that replaces the rest of an object, or the whole object: the reason, and its beginning. */
    private UTF8String rest(byte[] content, int from, boolean whole, JsonProcessingException broken) {
        String reason = broken.getOriginalMessage();
        int cut = reason.indexOf(" (start marker");
        JsonLocation place = broken.getLocation();
        String where = place == null ? "" : " (line " + place.getLineNr() + ", column " + place.getColumnNr() + ")";
        String head = (whole ? this.unreadable : this.unreadableRest)
            + (cut < 0 ? reason : reason.substring(0, cut)) + where + "\n";
        byte[] begin = UTF8String.fromString(head).getBytes();
        int shown = Math.min(content.length - from, MOST_SHOWN);
        byte[] text = Arrays.copyOf(begin, begin.length + shown);
        System.arraycopy(content, from, text, begin.length, shown);
        return UTF8String.fromBytes(text);
    }

    private JsonFactory factory() {
        if (this.factory == null) {
            this.factory = new JsonSettings(this.options).factory();
            this.factory.setStreamReadConstraints(StreamReadConstraints.builder()
                .maxStringLength(Integer.MAX_VALUE).maxNumberLength(Integer.MAX_VALUE).build());
        }
        return this.factory;
    }

    /** Reports a document that is JSON, but not as the configuration says. */
    private static final class Unsuited extends JsonProcessingException {
        private static final long serialVersionUID = 1L;

        Unsuited(JsonParser parser, String reason) {
            super(reason, parser.currentLocation());
        }
    }
}
