"""Builds a version beside the live one from recorded runs."""
