"""Reads and writes the small Delta tables of the ledger."""
