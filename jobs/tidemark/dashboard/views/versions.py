"""Versions of a pipeline: range, settings, difference, who let readers see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from tidemark.commands.dashboard.versions import ListedVersion
from tidemark.core.shell import command
from tidemark.dashboard.links import Links, link
from tidemark.dashboard.shell import Page, quiet
from tidemark.dashboard.views.states import badge
from tidemark.report.page.differences import differences
from tidemark.report.page.markup import Cell, Html, element, paragraph, section, table
from tidemark.report.words import moment

BACKFILLS = "tidemark_backfill"
"""The DAG whose runs build versions; the label of a version is the run that built it."""


def versions(name: str, file: str, listed: Sequence[ListedVersion], users: Mapping[str, str], links: Links) -> Page:
    """Return the page of versions, with the live one that readers see; `users`: who started the DAG runs that built
    versions, and who answered whether to promote them."""
    title = f"{name}: versions"
    if not listed:
        none = paragraph("No version is recorded yet: the first run makes one.")
        return Page(title, (none,), data={"versions": []})
    heads = ("version", "state", "outputs from", "to", "built from", "made", "made live", "by")
    replay = element("code", command("replay", file, options=("--all",)))
    runs = link("the runs", links.pipeline(name, "runs"))
    inner = (
        table("versions", heads, [_line(each, users, links) for each in listed]),
        quiet("Readers see the live version; making another one live switches all its tables at once."),
        *_settings(listed),
        *_differences(listed),
        paragraph(
            "To see whether a version still comes out as it stands, use ",
            replay,
            "; what DAG runs have verified is listed with ",
            runs,
            ".",
        ),
    )
    return Page(title, inner, data={"versions": [_data(each, users) for each in listed]})


def _data(each: ListedVersion, users: Mapping[str, str]) -> dict[str, object]:
    changed = [{"key": key, "before": before, "after": after} for key, before, after in each.settings]
    return {**each.record, "settings": changed, "by": users.get(each.record["label"] or "")}


def _line(each: ListedVersion, users: Mapping[str, str], links: Links) -> list[Cell | Html]:
    version, made, label = each.version, each.version.made, each.record["label"]
    by: Cell | Html = label
    if label is not None and label in users:
        by = links.airflow(users[label], "dags", BACKFILLS, "runs", label)
    return [
        str(version.version),
        badge("live") if version.live else "kept",
        "the first run" if made is None else moment(made.from_),
        "the last run" if made is None or made.to is None else moment(made.to),
        None if made is None else f"version {made.base}",
        moment(version.created),
        None if version.promoted is None else moment(version.promoted),
        by,
    ]


def _settings(listed: Sequence[ListedVersion]) -> Iterator[Html]:
    rows = [
        (str(each.version.version), element("span", key, class_="long"), *_sides(before, after))
        for each in listed
        for key, before, after in each.settings
    ]
    if rows:
        yield section(
            "settings", "Changed settings", table("settings-table", ("version", "setting", "before", "after"), rows)
        )
    elif len(listed) > 1:
        yield section("settings", "Changed settings", paragraph("No version has other settings than its base."))


def _sides(*values: str) -> list[Html | None]:
    return [element("span", each, class_="long") if each else None for each in values]


def _differences(listed: Sequence[ListedVersion]) -> Iterator[Html]:
    found = list(differences([asdict(each.version) for each in reversed(listed)]))
    if found:
        yield section("differences", "Differences from the version before", *found)
