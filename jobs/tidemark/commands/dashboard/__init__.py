"""Data of the dashboard, read from tables one page at a time. Starts no JVM and writes nothing."""
