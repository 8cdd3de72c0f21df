"""Settings with which Spark interprets plans, for tests of many small runs."""

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Compiling code for a few rows takes longer than judging them; results do not depend on it."""
