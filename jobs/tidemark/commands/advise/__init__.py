"""Advice on tolerances: tries others on recorded rows, and keeps the answer."""
