"""Computes recorded batches again: replay, backfill, repair."""
