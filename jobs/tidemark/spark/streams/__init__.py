"""Computes streams, windows and joins from the events tables."""
