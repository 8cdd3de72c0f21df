package tidemark.expressions;

/** Thrown where a time of day would have to be completed with the day on which a job happens to run. */
final class TimeWithoutDay extends RuntimeException {
    /** The one instance: it has no stack trace, since `NullOnError` catches it for each such row. */
    static final TimeWithoutDay FOUND = new TimeWithoutDay();

    private static final long serialVersionUID = 1L;

    private TimeWithoutDay() {
        super("a time of day without a date", null, false, false);
    }
}
