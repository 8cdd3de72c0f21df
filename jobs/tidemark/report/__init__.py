"""Answers about recorded tables, read without a JVM: which rows, why one row, how far everything is."""
