"""Checks each run after judging and before publishing. The only package that imports Great Expectations."""
