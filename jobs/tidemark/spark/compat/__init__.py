"""Private parts of PySpark, py4j and Spark that Python code touches (docs/compat.md lists them with the reason)."""
