"""Checks a warehouse of tidemark from docs/chain.md, docs/digest.md and docs/time-rules.md, without tidemark."""
