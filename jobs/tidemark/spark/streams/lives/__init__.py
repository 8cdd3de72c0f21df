"""Ends of rows that no constant gives."""
