"""Reads landed objects into rows, and finds those that cannot be read."""
