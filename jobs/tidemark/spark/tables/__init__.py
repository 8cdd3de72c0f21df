"""Writes Delta tables from Spark, and counts rows on the way."""
