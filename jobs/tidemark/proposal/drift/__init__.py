"""Compares a source's settings with what lies in its landing folder now, without a JVM."""
