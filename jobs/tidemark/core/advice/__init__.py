"""Costs of other tolerances, from recorded rows and runs (pure)."""
