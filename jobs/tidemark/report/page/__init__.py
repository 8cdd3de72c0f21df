"""The report: one HTML page about the fates of rows, with charts, read from the tables without a JVM."""
