"""The bench tells what has become slower, and has a place on its page for all that it measures."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from bench import __main__ as bench
from bench import figures, guard, pictures
from bench.__main__ import CORES, main
from bench.clock import Spread
from bench.figures import Figure, Section, write_docs
from bench.peers.workers import ROOT, worker
from click.testing import CliRunner

BEFORE = Figure("what", "a peer", Spread(1.0, 0.95, 1.1), Spread(10, 9, 11), Spread(10, 9, 11), 1.2, cores=2)


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "STORED", tmp_path / "figures.json")
    guard.store([Section("row", "Title", [BEFORE])])


def sentences(ratio: Spread, before: Spread = BEFORE.ratio) -> list[str]:
    guard.store([Section("row", "Title", [replace(BEFORE, ratio=before)])])
    return list(guard.worse([Section("row", "Title", [replace(BEFORE, ratio=ratio)])]))


def test_what_is_not_worse_beyond_the_noise_is_not_told():
    assert sentences(Spread(0.5, 0.4, 0.6)) == []
    assert sentences(BEFORE.ratio) == []
    assert sentences(Spread(1.3, 1.05, 1.4)) == [], "one repeat was as good as before"
    assert sentences(Spread(1.15, 1.12, 1.2), Spread(1.05, 0.95, 1.1)) == [], "a tenth is not much"


def test_a_ratio_that_is_worse_beyond_the_noise_is_told_with_both():
    (sentence,) = sentences(Spread(1.3, 1.2, 1.4))
    assert sentence == "row: what, against a peer (cores: 2): 1.30 (1.20-1.40), was 1.00 (0.95-1.10)"


def test_what_was_never_measured_cannot_be_compared():
    (sentence,) = guard.worse([Section("row", "Title", [replace(BEFORE, what="something new")])])
    assert "no figure is kept" in sentence


def test_a_figure_is_compared_with_one_on_as_many_cores():
    (sentence,) = guard.worse([Section("row", "Title", [BEFORE]).on(4)])
    assert sentence.startswith("row: what, against a peer (cores: 4): no figure is kept")


def test_figures_of_other_rows_stay():
    guard.store([Section("other", "Title", [BEFORE, replace(BEFORE, reach=None)])])
    assert guard.figures("row") == [BEFORE]
    assert guard.figures("other") == [BEFORE, replace(BEFORE, reach=None)]


def test_pictures_are_drawn_of_what_is_kept(tmp_path):
    guard.store([Section("growth", "Title", [replace(BEFORE, what="2,000 rows", against="1,000 rows")])])
    pictures.draw(tmp_path)
    assert "what" in (tmp_path / "performance-ratios.svg").read_text()
    assert "rows" in (tmp_path / "performance-growth.svg").read_text()


def test_a_ratio_of_nothing_stands_at_the_edge_of_the_picture():
    """As a backfill that took no longer than its fixed cost; a logarithmic axis would have no place for any other."""
    guard.store([Section("row", "Title", [replace(BEFORE, ratio=Spread(0.04, -0.02, 0.09)), BEFORE])])
    picture = pictures.ratios()
    first, second = picture["data"]["values"]
    assert (first["low"], second["low"]) == (pictures.LEAST, 0.95)
    least, most = picture["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert 0 < least < pictures.LEAST < 1.2 < most


def test_a_block_of_the_page_is_replaced_and_nothing_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench: row -->\nold\n<!-- end of row -->\nafter\n")
    write_docs(page, Section("row", "Title", [BEFORE], ["a \\note"]), "3 repeats")
    text = page.read_text()
    assert text.startswith("before\n<!-- bench: row -->\n| what |")
    assert text.endswith("<!-- end of row -->\nafter\n")
    assert "| what | a peer | 2 | 1.00 | 0.95-1.10 | at most 1.2: reached | 10.00 s | 10.00 s |" in text
    assert "- a \\note" in text
    assert "old" not in text
    with pytest.raises(ValueError, match="has no block <!-- bench: other -->"):
        write_docs(page, Section("other", "Title"), "3 repeats")


def test_the_page_has_a_place_for_each_row_of_the_bench():
    rows = set(re.findall(r'^    "(\w+)": Row\(', (ROOT / "bench" / "__main__.py").read_text(), re.MULTILINE))
    page = (ROOT / "docs" / "performance.md").read_text()
    assert len(rows) > 10
    assert set(re.findall(r"<!-- bench: (\w+) -->", page)) == rows
    assert set(json.loads((ROOT / "bench" / "figures.json").read_text())) <= rows


def test_each_figure_says_on_how_many_cores_it_was_measured(monkeypatch, capsys):
    section = Section("row", "Title", [replace(BEFORE, cores=None)] * 2).on(8)
    assert [figure.cores for figure in section.figures] == [8, 8]
    monkeypatch.setattr(figures, "machine", lambda: "a machine")
    figures.show([section], "once")
    table = [[cell.strip() for cell in re.split("[┃│]", line)[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert [row[2] for row in table if len(row) > 2] == ["cores", "8", "8"]
    page = (ROOT / "docs" / "performance.md").read_text()
    tables = re.findall(r"^\| what \| against \|.*\n(?:\|.*\n)+", page, re.MULTILINE)
    cells = [line.split(" | ")[2] for text in tables for line in text.splitlines() if "---" not in line]
    assert len(tables) > 10
    assert all(cell == "cores" or int(cell) > 0 for cell in cells)
    stored = json.loads((ROOT / "bench" / "figures.json").read_text())
    assert all(each["cores"] > 0 for row in stored.values() for each in row)


@pytest.mark.parametrize("cores", ["0", "3", "two", "-1"])
def test_cores_that_are_not_offered_are_refused_before_anything_is_measured(cores):
    found = CliRunner().invoke(main, ["--cores", cores, "judge"])
    assert found.exit_code == 2
    assert f"Invalid value for '--cores': '{cores}' is not one of '1', '2', '4', '8'." in found.output


@pytest.mark.parametrize("cores", [*CORES, None])
def test_both_sides_have_the_cores_that_are_asked_for(tmp_path, monkeypatch, cores):
    """By the master of each session that a row opens; figures on a number of cores asked for are not kept."""
    masters, written = [], []

    def opened() -> SimpleNamespace:
        masters.append(os.environ["TIDEMARK_MASTER"])
        return SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=cores or 2))

    monkeypatch.setenv("TIDEMARK_MASTER", "local[2]")
    monkeypatch.setattr(bench, "open_session", opened)
    monkeypatch.setattr(bench, "ROWS", {"row": bench.Row(lambda _: Section("row", "Title", [BEFORE]))})
    monkeypatch.setattr(bench, "write_docs", lambda _, section, scale: written.append((section, scale)))
    monkeypatch.setattr(bench, "draw", lambda _: None)
    asked = [] if cores is None else ["--cores", str(cores)]
    found = CliRunner().invoke(main, ["--folder", str(tmp_path), *asked])
    assert found.exit_code == 0, found.output
    assert masters == [f"local[{cores or 2}]"]
    assert [section.figures[0].cores for section, _ in written] == ([2] if cores is None else [])


PRINTING = """
import os
from bench.peers.serving import serve
os.system("echo 2026-11-23 a line of a log")
def job(fail):
    os.system("echo 7")
    assert not fail, "it failed"
serve(job)
"""


def test_what_a_worker_prints_is_no_answer_and_is_told_when_it_dies(tmp_path):
    with worker("w", [sys.executable, "-c", PRINTING], {"PYTHONPATH": str(ROOT)}, tmp_path) as running:
        assert running.do(fail=False) < 7
        with pytest.raises(ChildProcessError, match="it failed"):
            running.do(fail=True)
    assert (tmp_path / "w.log").read_text().startswith("2026-11-23 a line of a log\n7\n7\n")
    assert len(running.taken) == 1
