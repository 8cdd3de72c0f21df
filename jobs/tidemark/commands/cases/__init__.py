"""Test cases of a pipeline: rows given, fates and outputs expected."""
