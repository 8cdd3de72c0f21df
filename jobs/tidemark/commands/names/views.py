"""SQL of the views: one for each table of a version, cut at the last committed batch."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.storage import Location

_COLUMN_OF_SMALL = "batch_id"


def view_name(table: str) -> str:
    """Name of a table's view: `events/readings` is `events_readings`. No two tables have one name, since no ledger
    table begins with the kind of another."""
    return table.replace("/", "_")


def full_name(catalog: str, schema: str, table: str) -> str:
    """Name of a table's view with its catalog and schema, as SQL needs it: each part in backquotes, so that no text
    ends it."""
    return ".".join(map(_quoted, (catalog, schema, view_name(table))))


def statements(catalog: str, schema: str, folder: Location, tables: Sequence[str], gone: Sequence[str]) -> list[str]:
    """Statements that make the schema and the views of tables in the folder of a version, and drop those of tables
    that are `gone`, in SQL of Spark and Databricks. Each view changes in one step. It has the columns that its table
    has when it is read."""
    names = [full_name(catalog, schema, table) for table in tables]
    committed = f"{_rows('max(`batch_id`)', folder / 'batches')} WHERE `status` = 'committed'"
    rows = [f"{_rows('*', folder / table)} WHERE {_column(table)} <= ({committed})" for table in tables]
    views = map("CREATE OR REPLACE VIEW {} WITH SCHEMA EVOLUTION AS {}".format, names, rows)
    dropped = [f"DROP VIEW IF EXISTS {full_name(catalog, schema, table)}" for table in gone]
    return [f"CREATE SCHEMA IF NOT EXISTS {_quoted(catalog)}.{_quoted(schema)}", *views, *dropped]


def _column(table: str) -> str:
    """The column with a row's batch: events, lifetimes and what is published have it with a leading underscore."""
    return _quoted(f"_{_COLUMN_OF_SMALL}" if "/" in table else _COLUMN_OF_SMALL)


def _rows(what: str, location: Location) -> str:
    return f"SELECT {what} FROM delta.{_quoted(str(location))}"  # noqa: S608 # quoted


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
