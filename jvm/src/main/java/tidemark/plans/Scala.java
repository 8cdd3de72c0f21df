package tidemark.plans;

import java.util.List;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Seq$;
import scala.jdk.javaapi.CollectionConverters;

/** Converts Scala's sequences, which Spark's interfaces take and return, to Java's lists and back. */
public final class Scala {
    private Scala() {
    }

    /** Returns a view of the sequence, which cannot be changed. */
    public static <T> List<T> list(Seq<T> items) {
        return CollectionConverters.asJava(items);
    }

    /** Returns a copy of the items, none of which is null. */
    @SafeVarargs
    public static <T> Seq<T> seq(T... items) {
        return seq(List.of(items));
    }

    /** Returns a copy of the items. */
    public static <T> Seq<T> seq(List<T> items) {
        return Seq$.MODULE$.from(CollectionConverters.asScala(items));
    }
}
