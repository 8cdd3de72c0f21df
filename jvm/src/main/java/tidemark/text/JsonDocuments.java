package tidemark.text;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import tidemark.plans.Invoked;

/**
 * Cuts an object's JSON documents into rows, each the text that the object has for it, in the order of the object. The
 * rows of a document are the elements of the array at `members` (no member: of the document itself), or, if there are
 * no `members`, the document, and of one that is an array its elements. From a document on that does not parse, or has
 * no such array, the rest of the object is one text, which begins with the reason and is no JSON.
 */
public final class JsonDocuments implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final int MOST_SHOWN = 1 << 20;

    private final String[] members;
    private final Map options;
    private final String whole;
    private final String rest;
    private transient JsonFactory factory;

    private JsonDocuments(String[] members, Map options, String whole, String rest) {
        this.members = members;
        this.options = options;
        this.whole = whole;
        this.rest = rest;
    }

    /**
     * As a column of texts, from the object's content and path. `whole` is what the text begins with that stands for an
     * object of which nothing is read, `rest` for one of which something is.
     */
    public static Column function(Seq object, Seq members, Map options, String whole, String rest) {
        JsonDocuments made = new JsonDocuments(members == null ? null : texts(members), options, whole, rest);
        return Invoked.inTurn(made, "rows", DataTypes.createArrayType(DataTypes.StringType, false), object);
    }

    /** The texts of a sequence, as an array. */
    static String[] texts(Seq given) {
        String[] found = new String[given.length()];
        for (int index = 0; index < found.length; index++) {
            found[index] = (String) given.apply(index);
        }
        return found;
    }

    public Object rows(byte[] packed, UTF8String path) throws IOException {
        byte[] content = Decompression.of(packed, path);
        if (content == null) {
            String large = this.whole + "a document is read whole, and it has more than " + Decompression.MOST + " bytes";
            return new GenericArrayData(new Object[] {UTF8String.fromString(large)});
        }
        List found = new ArrayList();
        long from = 0;
        JsonParser parser = factory().createParser(content);
        try {
            while (parser.nextToken() != null) {
                from = begin(parser);
                List rows = new ArrayList();
                document(parser, content, rows);
                found.addAll(rows);
            }
        } catch (JsonProcessingException broken) {
            found.add(left(content, (int) from, found.isEmpty(), broken));
        } finally {
            parser.close();
        }
        return new GenericArrayData(found.toArray());
    }

    private void document(JsonParser parser, byte[] content, List rows) throws IOException {
        if (this.members == null && parser.currentToken() != JsonToken.START_ARRAY) {
            rows.add(value(parser, content));
        } else if (this.members == null) {
            elements(parser, content, rows);
        } else if (!below(parser, 0, content, rows)) {
            throw new Unsuited(parser, "it has no member " + String.join(".", this.members));
        }
    }

    /** Whether the value here has the array below the members from this one on; its elements are added. */
    private boolean below(JsonParser parser, int depth, byte[] content, List rows) throws IOException {
        if (depth == this.members.length) {
            if (parser.currentToken() != JsonToken.START_ARRAY) {
                throw new Unsuited(parser, "where the array of rows is to be, it has none");
            }
            elements(parser, content, rows);
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
                found |= below(parser, depth + 1, content, rows);
            } else {
                parser.skipChildren();
            }
        }
        return found;
    }

    private static void elements(JsonParser parser, byte[] content, List rows) throws IOException {
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            rows.add(value(parser, content));
        }
    }

    /** The text of the value that begins here. */
    private static UTF8String value(JsonParser parser, byte[] content) throws IOException {
        int from = (int) begin(parser);
        parser.skipChildren();
        parser.finishToken();
        int to = (int) parser.currentLocation().getByteOffset();
        while (content[to - 1] == ' ' || content[to - 1] == '\n' || content[to - 1] == '\r' || content[to - 1] == '\t') {
            to--;
        }
        return UTF8String.fromBytes(content, from, to - from);
    }

    private static long begin(JsonParser parser) throws JsonProcessingException {
        long from = parser.currentTokenLocation().getByteOffset();
        if (from < 0) {
            throw new Unsuited(parser, "it is no UTF-8");
        }
        return from;
    }

    private UTF8String left(byte[] content, int from, boolean all, JsonProcessingException broken) {
        String reason = broken.getOriginalMessage();
        int cut = reason.indexOf(" (start marker");
        String where = broken.getLocation() == null ? ""
            : " (line " + broken.getLocation().getLineNr() + ", column " + broken.getLocation().getColumnNr() + ")";
        String head = (all ? this.whole : this.rest) + (cut < 0 ? reason : reason.substring(0, cut)) + where + "\n";
        byte[] begin = UTF8String.fromString(head).getBytes();
        int shown = Math.min(content.length - from, MOST_SHOWN);
        byte[] text = Arrays.copyOf(begin, begin.length + shown);
        System.arraycopy(content, from, text, begin.length, shown);
        return UTF8String.fromBytes(text);
    }

    private JsonFactory factory() {
        if (this.factory == null) {
            this.factory = new JSONOptions(this.options, "UTC", "").buildJsonFactory();
            this.factory.setStreamReadConstraints(StreamReadConstraints.builder()
                .maxStringLength(Integer.MAX_VALUE).maxNumberLength(Integer.MAX_VALUE).build());
        }
        return this.factory;
    }

    /** JSON, but not what the configuration says of it. */
    private static final class Unsuited extends JsonProcessingException {
        private static final long serialVersionUID = 1L;

        Unsuited(JsonParser parser, String reason) {
            super(reason, parser.currentLocation());
        }
    }
}
