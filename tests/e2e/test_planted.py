"""A value from the environment is searched for in everything that a pipeline leaves and says; it is nowhere."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from samples import at

from oracle import SECOND, Obj, Row, Source
from product import Product
from tidemark.cli import invoke
from tidemark.errors import ConfigError, Problem, TidemarkError
from tidemark.pipeline import Pipeline
from tidemark.report import pipeline_graph
from tidemark.storage.object_errors import explained

pytestmark = pytest.mark.usefixtures("quick")
SALT = "planted-7f3a"
SALTED = "sha2(concat(coalesce(cast(k as string), ''), '${TM_SALT}'), 256)"
STREAMS = {
    "salted": {"from": "s", "publish": True, "where": "'${TM_SALT}' <> ''", "select": {"who": SALTED}},
    "minutes": {"from": "s", "tumbling": "10s", "select": {"n": f"count({SALTED})"}},
}


@pytest.fixture
def product(tmp_path, monkeypatch) -> Product:
    monkeypatch.setenv("TM_SALT", SALT)
    source = Source(late=(4 * SECOND, "drop"), landing_delay=3 * SECOND)
    made = Product(tmp_path, {"s": source}, {"streams": STREAMS})
    rows = tuple(Row("0", at(number) - (number % 7) * SECOND, at(number), None) for number in range(20))
    made.land("s", [Obj("a", at(20), rows)])
    return made


def left_in(product: Product) -> list[str]:
    """The files of a warehouse that have the value, as they are or in a column of Parquet."""
    found = []
    for file in (product.folder / "warehouse").rglob("*"):
        if file.is_file():
            text = file.read_bytes().decode("latin-1")
            if file.suffix == ".parquet":
                text += str(pq.ParquetFile(file).read().to_pydict()) + str(pq.read_metadata(file).metadata)
            found += [str(file)] if SALT in text else []
    return found


def test_a_value_of_the_environment_is_in_no_file_no_output_and_no_error(product, monkeypatch, capfd):
    config, page = str(product.config), product.folder / "page.html"

    def said(*words: str) -> tuple[int, str]:
        status = invoke([words[0], config, *words[1:]])
        told = capfd.readouterr()
        assert SALT not in told.out + told.err, words
        return status, told.out + told.err

    assert said("run", "--as-of", "2026-01-01T00:10:00Z", "--json")[0] == 0
    for words in (["validate"], ["status", "--json"], ["versions", "--json"], ["rows"], ["explain", "s", "0", "3"]):
        assert said(*words)[0] == 0
    assert said("report", "--out", str(page))[0] == 0
    assert said("replay", "--all")[0] == 0
    assert SALT not in page.read_text() + pipeline_graph.page(Pipeline.load(product.config).spec)
    assert product.table("streams/salted")
    assert "${TM_SALT}" in product.table("batches")[0]["configuration"]
    monkeypatch.setenv("TM_SALT", "planted-other")
    for words in (["run"], ["replay", "--all"]):
        status, text = said(*words)
        assert (status, "TM_SALT" in text, "planted" in text) == (2, True, False), text
    assert left_in(product) == []


def test_errors_of_verbs_quote_no_value(product):
    Pipeline.load(product.config)

    @explained
    def failing(error: Exception) -> None:
        raise error

    told = f"cannot resolve concat(k, '{SALT}')"
    for error in (ValueError(told), ConfigError([Problem("p.yml", "sources.s", told)]), TidemarkError(told)):
        with pytest.raises(TidemarkError) as raised:
            failing(error)
        assert SALT not in str(raised.value) + raised.value.message
        assert raised.value.__cause__ is None
