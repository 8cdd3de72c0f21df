package tidemark.expressions;

/** Raised for an expression that no row could make sound; says why, to follow the expression in a sentence. */
public final class Refused extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Refused(String reason) {
        super(reason);
    }
}
