"""Checks of a run between what it judged and what it publishes: the only room that knows Great Expectations."""
