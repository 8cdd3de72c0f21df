"""Checks a warehouse of tidemark with code that shares nothing with it: nothing here imports tidemark.

It is written from docs/chain.md, docs/digest.md and docs/time-rules.md. Times are microseconds UTC.
"""
