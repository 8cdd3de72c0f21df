"""The command `register`: a link and views that always show the live version."""

from __future__ import annotations

from typing import Unpack

from typing_extensions import TypedDict

from tidemark.commands.names.follow import change_views, changed, follow
from tidemark.commands.names.known import named_tables
from tidemark.commands.names.published import followed, make_link
from tidemark.commands.names.registered import Registration, forget, registered, save
from tidemark.commands.names.views import full_name
from tidemark.context import RunContext
from tidemark.errors import UsageError
from tidemark.records.versions import NamedTable, RegisterRecord


class RegisterOptions(TypedDict, total=False):
    """Options of `register`. `schema` of the views (default: the pipeline's name). `sql`: a person creates the views
    by the statements in the record. `forget`: the views are no longer changed. `wait` for a run to end."""

    schema: str | None
    sql: bool
    forget: bool
    wait: bool


def register(context: RunContext, catalog: str | None, **asked: Unpack[RegisterOptions]) -> RegisterRecord:
    """Make the link for plain paths and, with a catalog, a view of each table; record the views. Raises UsageError if
    no run is committed."""
    schema = asked.get("schema")
    by_hand, gone = asked.get("sql", False), asked.get("forget", False)
    if "" in (catalog, schema) or (catalog is None and (schema or by_hand or gone)) or (by_hand and gone):
        raise UsageError("views need the name of a catalog", hint="such as --catalog spark_catalog")
    with context.hold(asked.get("wait", False)):
        ledger = context.ledger
        if not ledger.last().committed_through:
            raise UsageError("there is no table yet: no run is committed", hint="use `tidemark run` first")
        make_link(context.root, ledger.version)
        if catalog is None:
            return _record(context, None, [])
        return _with_views(context, (catalog, schema or context.spec.name), by_hand, gone)


def _with_views(context: RunContext, key: tuple[str, str], by_hand: bool, gone: bool) -> RegisterRecord:
    known = next((each for each in registered(context.root) if each.key == key), None)
    if gone:
        if known is None:
            raise UsageError(f"no views are registered in {'.'.join(key)}", where=str(context.root))
        forget(context.root, key)
        return _record(context, None, [])
    wanted = Registration(*key, by_hand, None, known.tables if known else ())
    if not by_hand:
        return _record(context, change_views(context, wanted), [])
    done, texts = changed(context, wanted)
    save(context.root, done)
    return _record(context, done, texts)


def _record(context: RunContext, done: Registration | None, texts: list[str]) -> RegisterRecord:
    ledger, names, tables = context.ledger, follow(context), list[NamedTable]()
    if done:
        there = named_tables(ledger, done.tables)
        tables = [{"table": each, "name": full_name(*done.key, each)} for each in there]
    link = followed(ledger.root, ledger.version)
    return {
        "catalog": done.catalog if done else None,
        "schema": done.schema if done else None,
        "version": ledger.version,
        "tables": tables,
        "statements": texts,
        "published": None if link is None else str(link),
        "names": names,
    }
