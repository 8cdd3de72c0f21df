"""Proposes types, times and partition keys from the values and names of columns."""
