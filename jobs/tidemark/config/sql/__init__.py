"""Checks SQL expressions of a pipeline file without a JVM."""
