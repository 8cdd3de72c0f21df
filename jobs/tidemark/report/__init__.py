"""Reads recorded tables without a JVM: finds rows, explains one row, shows progress, draws the report."""
