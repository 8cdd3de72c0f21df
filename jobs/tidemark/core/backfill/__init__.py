"""Ranges that a backfill reads, and its start (pure)."""
