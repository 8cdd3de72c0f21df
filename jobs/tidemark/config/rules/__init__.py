"""Rules between the keys of a pipeline file, and warnings about unusual values."""
