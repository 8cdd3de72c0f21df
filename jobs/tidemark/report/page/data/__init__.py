"""Numbers of a report, read from a pipeline's tables."""
