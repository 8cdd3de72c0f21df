"""SQL of the views: one for each table of a version, with rows up to the last committed batch."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.storage import Location

_COLUMN_OF_SMALL = "batch_id"


def view_name(table: str) -> str:
    """Name of a table's view: `events/readings` is `events_readings`. Names are unique, since no ledger table begins
    with the kind of another table."""
    return table.replace("/", "_")


def full_name(catalog: str, schema: str, table: str) -> str:
    """Name of a table's view with its catalog and schema for SQL: each part is quoted by backquotes and escaped."""
    return ".".join(map(_quoted, (catalog, schema, view_name(table))))


def statements(catalog: str, schema: str, folder: Location, tables: Sequence[str], gone: Sequence[str]) -> list[str]:
    """SQL statements (Spark, Databricks) that create the schema and the views of `tables` in a version's `folder`,
    and drop the views of tables that are `gone`. Each view changes in one step, and has the columns of its table at
    the time of reading."""
    names = [full_name(catalog, schema, table) for table in tables]
    committed = f"{_rows('max(`batch_id`)', folder / 'batches')} WHERE `status` = 'committed'"
    rows = [f"{_rows('*', folder / table)} WHERE {_column(table)} <= ({committed})" for table in tables]
    views = map("CREATE OR REPLACE VIEW {} WITH SCHEMA EVOLUTION AS {}".format, names, rows)
    dropped = [f"DROP VIEW IF EXISTS {full_name(catalog, schema, table)}" for table in gone]
    return [f"CREATE SCHEMA IF NOT EXISTS {_quoted(catalog)}.{_quoted(schema)}", *views, *dropped]


def _column(table: str) -> str:
    """The column with a row's batch id; in tables written by Spark it has a leading underscore."""
    return _quoted(f"_{_COLUMN_OF_SMALL}" if "/" in table else _COLUMN_OF_SMALL)


def _rows(what: str, location: Location) -> str:
    return f"SELECT {what} FROM delta.{_quoted(str(location))}"  # noqa: S608 # quoted


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
