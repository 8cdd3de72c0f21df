"""Computes ends of rows that are no constant."""
