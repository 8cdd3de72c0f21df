package tidemark.expressions;

/** Raised where a time of day would have to be completed with the day on which a job happens to run. */
final class Dayless extends RuntimeException {
    static final Dayless FOUND = new Dayless();

    private static final long serialVersionUID = 1L;

    private Dayless() {
        super("a time of day without a date", null, false, false);
    }
}
