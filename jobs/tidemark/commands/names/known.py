"""Lists names of tables for readers, and names that do not show the live version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tidemark.commands.names.published import behind_link, followed
from tidemark.commands.names.registered import Registration, registered
from tidemark.commands.names.views import full_name
from tidemark.core.shell import command
from tidemark.ledger.ledger import Ledger
from tidemark.storage import Location, is_table

_WITHOUT_NAMES = ("advice", "plans", "open_lifetimes/", "seen/")
"""Prefixes of tables that only tidemark uses."""


def named_tables(ledger: Ledger, tables: Iterable[str]) -> tuple[str, ...]:
    """The tables of a version that readers use and that have been written already."""
    return tuple(name for name in tables if not name.startswith(_WITHOUT_NAMES) and is_table(ledger.folder / name))


def behind(ledger: Ledger, tables: Callable[[], Iterable[str]]) -> list[Registration]:
    """Registrations with a view that does not show the live version, or without a view of a table. `tables` is called
    only if anything is registered."""
    known = registered(ledger.root)
    there = named_tables(ledger, tables()) if known else ()
    return [each for each in known if each.version != ledger.version or not set(there) <= set(each.tables)]


def lagging(ledger: Ledger, late: Sequence[Registration], config: str) -> list[str]:
    """Sentences on names that do not show the live version, with what to do; `late` are the registrations from
    `behind`."""
    link = behind_link(ledger.root, ledger.version)
    views = [_sentence(each, ledger.version, config) for each in late]
    return [*([] if link is None else [link]), *views]


def names_of(table: str, root: Location, live: int) -> list[str]:
    """Names of a table that always show the live version: a path, and views."""
    link = followed(root, live)
    views = [full_name(*each.key, table) for each in registered(root) if table in each.tables and not each.by_hand]
    return [*([] if link is None else [str(link / table)]), *views]


def fixed(location: Location, names: Sequence[str], config: str) -> str:
    """Sentence for a reader who got the folder of a fixed version."""
    options = () if isinstance(location, Path) else ("--catalog", "NAME")
    names = names or [f"a name that `{command('register', config, options=options)}` makes"]
    instead = f"read {' or '.join(names)} instead"
    return f"{location} does not follow `promote`: {instead}"


def _sentence(which: Registration, live: int, config: str) -> str:
    options = ("--catalog", which.catalog, "--schema", which.schema)
    lag = f"the views in {which.catalog}.{which.schema} do not show all of version {live}"
    if which.by_hand:
        return f"{lag}: run the statements that `{command('register', config, options=(*options, '--sql'))}` prints"
    return f"{lag}: the next run, or `{command('register', config, options=options)}`, corrects them"
