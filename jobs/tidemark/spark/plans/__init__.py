"""Builds query plans that later runs reuse with other parameters."""
