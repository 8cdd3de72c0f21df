"""Signals for consumers: what a pipeline's runs have published, and the periods of its streams that are complete."""
