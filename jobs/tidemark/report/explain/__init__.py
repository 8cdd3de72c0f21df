"""Explains one row in sentences: its times, the policies, and the tolerance that would have kept it."""
