package tidemark.rows;

/**
 * Conversions of numbers that may be null. Spark's compiled code passes primitive numbers to methods, with `NONE`
 * for null.
 */
public final class Nullable {
    /** The primitive number that represents null. */
    public static final long NONE = Long.MIN_VALUE;

    private Nullable() {
    }

    /** Returns the number as an object, null for `NONE`. */
    static Long box(long number) {
        return number == NONE ? null : number;
    }

    /** Returns the greater number. Null is less than any number. */
    static Long max(Long one, Long other) {
        if (one == null || (other != null && other > one)) {
            return other;
        }
        return one;
    }
}
