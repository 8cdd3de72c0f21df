package tidemark.plans;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * A catalog of the calls that `Invoked` makes, which Spark looks up by their names: the public way of `Invoked`. A
 * session uses it if its settings name this class as the catalog `NAME`.
 */
public final class CatalogFunctions implements FunctionCatalog {
    private static final String NAME = "__tidemark";
    private static final String SETTING = "spark.sql.catalog." + NAME;

    /** Most calls that are kept. A call is looked up as soon as rows with it are made, and not again later. */
    private static final int MOST = 10_000;
    private static final Map<String, MethodCall> MADE = new LinkedHashMap<>();

    private static long number;

    /** Returns true if the active session has the catalog. */
    static boolean areUsed() {
        Option<SparkSession> session = SparkSession.getActiveSession();
        return session.isDefined() && session.get().conf().getOption(SETTING).isDefined();
    }

    /** Makes a column of a call. */
    static Column column(MethodCall call, Seq<Column> arguments) {
        return functions.call_function(NAME + '.' + add(call), arguments);
    }

    private static String add(MethodCall call) {
        synchronized (MADE) {
            if (MADE.size() >= MOST) {
                MADE.remove(MADE.keySet().iterator().next());
            }
            String name = "call" + number++;
            MADE.put(name, call);
            return name;
        }
    }

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        // there is nothing to set
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Identifier[] listFunctions(String[] namespace) {
        return new Identifier[0];
    }

    /**
     * Returns the function of a call.
     *
     * @throws IllegalStateException if no such call is kept
     */
    @Override
    public UnboundFunction loadFunction(Identifier identifier) {
        MethodCall call;
        synchronized (MADE) {
            call = MADE.get(identifier.name());
        }
        if (call == null) {
            throw new IllegalStateException("no call has the name " + identifier);
        }
        return new CatalogFunction(identifier.name(), call);
    }
}
