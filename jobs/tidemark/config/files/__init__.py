"""Reads pipeline files: YAML, merged defaults, overrides, paths and messages."""
