package tidemark.plans;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;

/**
 * What is known of the objects of a batch, told to the tasks of a job as it begins. Rows come object by object, so that
 * most of them need not be looked up; a join with as much would be a job of its own, and hash the path of each row.
 */
public final class ObjectLookup implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private static final String FOUND = "object INT NOT NULL, modified BIGINT NOT NULL, partition STRING";
    private static final String NAMED = "uri STRING NOT NULL, batch BIGINT NOT NULL";

    private Map byPath = new HashMap();
    private InternalRow[] byNumber = new InternalRow[0];
    private transient UTF8String path;
    private transient InternalRow last;

    /**
     * For jobs that begin from now on, as JSON: [batch, [[uri, landing time in microseconds, the partition that its name
     * says or null, [paths that Spark may give it]] of each object, in the order of their numbers]].
     */
    public void tell(String told) throws IOException {
        List whole = (List) new ObjectMapper().readValue(told, List.class);
        Long batch = Long.valueOf(((Number) whole.get(0)).longValue());
        List objects = (List) whole.get(1);
        this.byPath = new HashMap();
        this.byNumber = new InternalRow[objects.size()];
        for (int number = 0; number < this.byNumber.length; number++) {
            List object = (List) objects.get(number);
            Long modified = Long.valueOf(((Number) object.get(1)).longValue());
            UTF8String partition = UTF8String.fromString((String) object.get(2));
            InternalRow row = new GenericInternalRow(new Object[] {Integer.valueOf(number), modified, partition});
            List paths = (List) object.get(3);
            for (int index = 0; index < paths.size(); index++) {
                this.byPath.put(UTF8String.fromString((String) paths.get(index)), row);
            }
            Object uri = UTF8String.fromString((String) object.get(0));
            this.byNumber[number] = new GenericInternalRow(new Object[] {uri, batch});
        }
    }

    /** Number, landing time and partition of the object that a path is of, as a column. */
    public Column at(Seq path) {
        return Invoked.inTurn(this, "found", DataType.fromDDL(FOUND), path);
    }

    /** URI and batch of the object of a number, as a column. */
    public Column named(Seq number) {
        return Invoked.inTurn(this, "name", DataType.fromDDL(NAMED), number);
    }

    public InternalRow found(UTF8String path) {
        if (this.path == null || !this.path.equals(path)) {
            InternalRow known = (InternalRow) this.byPath.get(path);
            if (known == null) {
                throw new IllegalStateException("a row of an object that was not planned: " + path);
            }
            this.path = path.copy();
            this.last = known;
        }
        return this.last;
    }

    public InternalRow name(int number) {
        return this.byNumber[number];
    }
}
