"""Rebuilds damaged tables."""
