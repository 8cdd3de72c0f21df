"""Names in Spark's catalogs."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidemark.errors import TidemarkError, first_line

_HINT = "with --sql `tidemark register` prints the statements instead, for a person to run"


def require_lasting(spark: SparkSession, catalog: str) -> None:
    """Raise TidemarkError if Spark does not know a catalog, or keeps it in the memory of this process."""
    if catalog == "spark_catalog" and spark.conf.get("spark.sql.catalogImplementation") == "in-memory":
        raise TidemarkError(
            "Spark keeps spark_catalog in memory here: names in it would end with this process",
            where="spark.sql.catalogImplementation",
            hint=f"configure Spark with a metastore (`spark.sql.catalogImplementation hive`); {_HINT}",
        )
    execute(spark, f"SHOW SCHEMAS IN `{catalog.replace('`', '``')}`")


def execute(spark: SparkSession, statement: str) -> None:
    """Execute a statement on a catalog. Raises TidemarkError with the reason if Spark refuses."""
    try:
        spark.sql(statement)
    except (PySparkException, Py4JJavaError) as error:
        reason = first_line(error)
        raise TidemarkError(
            f"Spark refuses names in this catalog: {reason}", where=statement.partition(" AS ")[0], hint=_HINT
        ) from error
