"""Formats the records of commands as text for people."""
