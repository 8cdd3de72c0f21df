"""The report: one HTML page of what became of rows, with pictures, read from the tables without a JVM."""
