"""Models of a pipeline file: one class for each of its parts."""
