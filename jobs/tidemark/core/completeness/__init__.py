"""Completeness of a stream, period by period, and what its consumers have been told."""
