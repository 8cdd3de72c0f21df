"""Operators that compute rows of a stream from rows that it reads, beyond one expression."""
