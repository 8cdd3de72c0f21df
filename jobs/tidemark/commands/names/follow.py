"""Keeps names of tables at the live version, which a commit to `versions` sets. Names that a crash leaves at an old
version are corrected by the next run, backfill, promotion, release or maintenance."""

from __future__ import annotations

from dataclasses import replace

from tidemark.commands.names.known import behind, lagging, named_tables
from tidemark.commands.names.published import follow_link, obstacle
from tidemark.commands.names.registered import Registration, registered, save
from tidemark.commands.names.views import statements
from tidemark.commands.read import Reader
from tidemark.context import RunContext
from tidemark.errors import Held, TidemarkError

_REPEAT = "repeat the command; the next run changes them, too"


def follow(context: RunContext, *, must: bool = False) -> list[str]:
    """Let all names show the live version; the caller holds the lock. Returns sentences on names that do not, with
    what to do. With `must`, raises TidemarkError if Spark refuses. Raises Held if the lock is lost. Starts a JVM only
    if views have to be changed."""
    ledger, failed = context.ledger, []
    tables = Reader(context.spec, ledger).tables
    follow_link(context.root, ledger.version)
    late = behind(ledger, tables)
    for each in late:
        if not each.by_hand:
            try:
                change_views(context, each)
            except Held:
                raise
            except TidemarkError as error:
                if must:
                    live = f"version {ledger.version} is live, and not all views show it yet"
                    raise TidemarkError(f"{live}: {error.message}", where=error.where, hint=_REPEAT) from error
                failed.append(f"{error.message}; {error.hint}")
    left = behind(ledger, tables) if late else []
    return [*failed, *lagging(ledger, left, str(context.spec.path))]


def ensure_movable(context: RunContext) -> None:
    """Raise TidemarkError, before a promotion, if a name could not follow it: another file has the link's name, or
    Spark does not reach a catalog."""
    if found := obstacle(context.root):
        raise found
    for each in registered(context.root):
        if not each.by_hand:
            _require_catalog(context, each.catalog)


def changed(context: RunContext, which: Registration) -> tuple[Registration, list[str]]:
    """A registration with all its views at the live version, and the SQL statements that move them. A view whose
    table is missing in the live version is dropped."""
    ledger = context.ledger
    wanted = dict.fromkeys([*Reader(context.spec, ledger).tables(), *which.tables])
    there = named_tables(ledger, wanted)
    gone = [each for each in which.tables if each not in there]
    done = replace(which, version=ledger.version, tables=(*there, *gone))
    return done, statements(which.catalog, which.schema, ledger.folder, there, gone)


def change_views(context: RunContext, which: Registration) -> Registration:
    """Let the views of a registration read the live version; returns the registration as recorded. During the change
    it is recorded without a version, so that a crash between two views is noticed."""
    from tidemark.spark.catalogs import execute  # imported here, since it imports Spark

    done, texts = changed(context, which)
    _require_catalog(context, which.catalog)
    if any(each.key == which.key for each in registered(context.root)):
        save(context.root, replace(which, version=None))
    for statement in texts:
        execute(context.engine.spark, statement)
        context.checkpoint("named")
    save(context.root, done)
    return done


def _require_catalog(context: RunContext, catalog: str) -> None:
    from tidemark.spark.catalogs import require_lasting

    require_lasting(context.engine.spark, catalog)
