"""Judges the rows of a micro-batch and writes them to the events tables."""
