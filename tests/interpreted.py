"""Settings with which Spark interprets plans, for tests of many small runs, or compiles them without fail."""

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Compiling code for a few rows takes longer than judging them; results do not depend on it."""
COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "CODEGEN_ONLY",
    "spark.sql.codegen.fallback": "false",
}
"""Code that does not compile is an error. Spark would interpret such a plan, and say so in its log only."""
