package tidemark;

import java.io.Serializable;

/** The watermark in which partitions without a state start, microseconds: told to the tasks of a job as it begins. */
public final class Unseen implements Serializable {
    private static final long serialVersionUID = 1L;

    private Long watermark;

    public Unseen(Object watermark) {
        set(watermark);
    }

    /** For jobs that begin from now on; null: there is none. */
    public void set(Object watermark) {
        this.watermark = watermark == null ? null : Long.valueOf(((Number) watermark).longValue());
    }

    Long watermark() {
        return this.watermark;
    }
}
