"""Advises on tolerances: tries candidates on recorded rows, and stores the results."""
