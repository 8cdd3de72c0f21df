"""The chain of batches (docs/chain.md)."""
