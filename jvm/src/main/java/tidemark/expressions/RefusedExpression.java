package tidemark.expressions;

/**
 * Thrown for an expression that must not be used, whatever its row has. The message is the reason; it continues a
 * sentence that begins with the expression.
 */
public final class RefusedExpression extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Makes the exception with the rest of the sentence. */
    RefusedExpression(String reason) {
        super(reason);
    }
}
