"""Assigns rows to tasks. The assignment never changes a result."""
