"""Rows, punctuations and lifetimes of punctuated sources."""
