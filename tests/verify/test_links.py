"""The chain as docs/chain.md has it, made by a ledger and read by rules of the page alone."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import replace

import pytest
from deltalake import DeltaTable

from ledger_samples import NOON, commit_run, full, landed, plan_run, taken
from tidemark.core.batch_result import LastWrite
from tidemark.ledger.abandoned import set_aside, skip
from tidemark.ledger.chain.links import canonical, chained_again
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import ensure_whole
from tidemark.ledger.tail import ABANDONED, ABANDONING
from tidemark_verify import verify

A, B, C = (landed(f"{name}.json") for name in "abc")


def form(value):
    """The form of docs/chain.md, written from the page."""
    if isinstance(value, dict):
        members = (f"{form(key)}:{form(value[key])}" for key in sorted(value) if value[key] is not None)
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(form, value)) + "]"
    if isinstance(value, float):
        return f'"{struct.unpack(">Q", struct.pack(">d", value))[0]:016x}"'
    if isinstance(value, str):
        named = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
        return '"' + "".join(named.get(c, f"\\u{ord(c):04x}" if ord(c) < 32 else c) for c in value) + '"'
    return (
        {True: "true", False: "false", None: "null"}[value]
        if value in (True, False, None) and not isinstance(value, int)
        else json.dumps(value)
    )


def hashed(row: dict) -> str:
    return hashlib.sha256(form({key: row[key] for key in row if key != "chain"}).encode()).hexdigest()


def rows_of(ledger: Ledger) -> list[dict]:
    return sorted(ledger.stores["batches"].read(1, 100), key=lambda row: row["batch_id"])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"n": 1.5, "a": None, "t": "é"}, '{"n":"3ff8000000000000","t":"é"}'),
        ({"b": [None, {"c": None, "d": -0.0}], "a": True}, '{"a":true,"b":[null,{"d":"8000000000000000"}]}'),
        ({"t": 'a"\\\n\x01\x7f/'}, '{"t":"a\\"\\\\\\n\\u0001\x7f/"}'),
        ({"i": -(2**63)}, '{"i":-9223372036854775808}'),
    ],
)
def test_a_row_has_the_form_of_the_page(row, expected):
    assert canonical(row) == verify.canonical(row) == form(row) == expected


def test_each_batch_is_chained_to_the_one_before(tmp_path):
    ledger = Ledger(tmp_path)
    commit_run(ledger, [[A], [B]])
    (record,) = plan_run(ledger, [[C]])
    last = ledger.commit(full(record), taken(ledger, record))
    rows = rows_of(ledger)
    assert [row["chain"] for row in rows] == list(map(hashed, rows))
    assert [row["chain_before"] for row in rows] == [None, rows[0]["chain"], rows[1]["chain"]]
    assert last.chain == rows[2]["chain"]
    assert list(verify.Chain({"batches": rows})._links()) == []


def test_files_of_a_batch_are_those_of_the_log_since_the_one_before(tmp_path):
    ledger = Ledger(tmp_path)
    commit_run(ledger, [[A]])
    commit_run(ledger, [[B]])
    first, second = (record.files for record in ledger.batches(1, 2))
    for record in (first, second):
        for each in record:
            content = (ledger.folder / each.table / each.path).read_bytes()
            assert (each.size, each.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    log = DeltaTable(ledger.folder / "objects").metadata().id
    entries = [
        [each.path for each in files if each.table == "objects" and each.log == log] for files in (first, second)
    ]
    assert entries == [
        ["_delta_log/00000000000000000001.json", "_delta_log/00000000000000000000.json"],
        ["_delta_log/00000000000000000002.json"],
    ]
    assert {each.table for each in second} == {"batches", "objects"}


def test_an_abandoned_batch_is_in_the_chain_and_is_copied_into_that_of_another_version(tmp_path):
    ledger = Ledger(tmp_path)
    commit_run(ledger, [[A]])
    pending = plan_run(ledger, [[B]])
    set_aside(ledger, pending, ABANDONING, "no disk")
    assert rows_of(ledger)[1]["chain"] is None
    set_aside(ledger, ledger.last().pending, ABANDONED, "no disk")
    commit_run(ledger, [[C]])
    rows = rows_of(ledger)
    assert [row["chain_before"] for row in rows] == [None, rows[0]["chain"], rows[1]["chain"]]
    assert list(map(hashed, rows)) == [row["chain"] for row in rows]
    other = Ledger(tmp_path / "other")
    commit_run(other, [[A]], run_id="other")
    skip(other, ledger, 3)
    copied = rows_of(other)
    assert copied[1]["chain_before"] == copied[0]["chain"] != rows[0]["chain"]
    assert hashed(copied[1]) == copied[1]["chain"]


def test_a_version_that_gets_an_abandoned_batch_is_not_asked_for_what_was_withdrawn_elsewhere(tmp_path):
    ledger, other = Ledger(tmp_path), Ledger(tmp_path / "other")
    for each in (ledger, other):
        commit_run(each, [[A]])
    pending = plan_run(ledger, [[B]])
    set_aside(ledger, pending, ABANDONING, "no disk")
    ledger.stores["diagnostics"].withdraw(2, 2, ABANDONED, ("record",))
    withdrawn = (LastWrite("diagnostics", ABANDONED, 2),)
    set_aside(ledger, ledger.last().pending, ABANDONED, "no disk", withdrawn)
    commit_run(ledger, [[C]], run_id="later")
    skip(other, ledger, 3)
    commit_run(other, [[C]], run_id="later")
    for each in (ledger, other):
        ensure_whole(each)
    assert {*withdrawn} & {*ledger.batches(3, 3)[0].written}
    assert not {*withdrawn} & {*other.batches(3, 3)[0].written}


def test_the_chain_begins_at_the_first_batch_that_has_one(tmp_path):
    ledger = Ledger(tmp_path)
    commit_run(ledger, [[A], [B]])
    before = [replace(each, chain=None, chain_before=None, files=None) for each in ledger.batches(1, 2)]
    assert chained_again(ledger, before) == before
    rows = [{**row, "chain": None, "chain_before": None} for row in rows_of(ledger)]
    assert list(verify.Chain({"batches": rows})._links()) == []
    assert verify.Chain({"batches": rows}).head is None


def test_what_breaks_a_chain_is_found_at_its_batch(tmp_path):
    ledger = Ledger(tmp_path)
    commit_run(ledger, [[A], [B], [C]])
    rows = rows_of(ledger)

    def broken(*changed: dict) -> set[int | None]:
        return {flaw.batch_id for flaw in verify.Chain({"batches": changed})._links()}

    first, second, third = rows
    assert broken(*rows) == set()
    assert broken(first, {**second, "bytes": 11}, third) == {2}
    assert broken(first, third) == {2, 3}
    assert broken(first, second, second, third) == {2}
    assert broken(first, {**second, "chain": None}, third) == {2, 3}
    assert broken(first, {**second, "status": "planned"}, third) == {2, 3}
    forged = {**second, "as_of": NOON}
    assert broken(first, {**forged, "chain": hashed(forged)}, third) == {3}
