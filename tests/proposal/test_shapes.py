"""`init` is held to what an expert chooses for landing folders in the shapes that public systems write."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from landing_files import proposed
from service_shapes import service_shapes
from shapes import Shape, shapes

from tidemark.errors import UsageError

SHAPES = [*shapes(), *service_shapes()]
PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def choices(shape: Shape, folder: Path) -> list[tuple[str, Any, Any]]:
    """Each choice of the expert, and what is proposed."""
    shape.write(folder / "landing")
    if "error" in shape.choice:
        with pytest.raises(UsageError) as caught:
            proposed(folder)
        return [("error", True, shape.choice["error"] in caught.value.message)]
    found, written = proposed(folder)
    (source,) = written.values()
    (record,) = found.values()
    types = {each["name"]: each["type"] for each in record["columns"]}
    text = " ".join((folder / "proposed.yml").read_text().replace("#", " ").split())
    result: list[tuple[str, Any, Any]] = []
    for key, wanted in shape.choice.items():
        match key:
            case "types":
                result += [(f"type of {name}", kind, types.get(name)) for name, kind in wanted.items()]
            case "options":
                got = source.get("options", {})
                result += [(f"option {name}", value, got.get(name)) for name, value in wanted.items()]
            case "landed_at":
                result.append((key, wanted, source.get(key, {}).get("format")))
            case "partition":
                got = source.get(key, {}).get("column") or source.get(key, {}).get("path")
                result.append((key, wanted, wanted if wanted and got and wanted in got else got))
            case "remark":
                result.append((key, True, wanted.lower() in text.lower()))
            case _:
                result.append((key, wanted, source.get(key)))
    return result


def test_there_are_at_least_forty_shapes_with_names_of_their_own():
    assert len({shape.name for shape in SHAPES}) == len(SHAPES) >= 40


@pytest.fixture(scope="module")
def scored(tmp_path_factory) -> dict[str, list[tuple[str, Any, Any]]]:
    """By shape, each choice of the expert and what is proposed."""
    return {shape.name: choices(shape, tmp_path_factory.mktemp("shape")) for shape in SHAPES}


@pytest.mark.parametrize("name", [shape.name for shape in SHAPES])
def test_init_chooses_as_an_expert_does(name, scored):
    wrong = [f"{key}: {got!r} instead of {wanted!r}" for key, wanted, got in scored[name] if got != wanted]
    assert wrong == []


def test_the_page_has_the_measured_score(scored):
    said = re.search(
        r"for (\d+) landing folders in the shapes.*?(\d+) of (\d+) choices", PAGE.read_text("utf-8"), re.DOTALL
    )
    assert said is not None
    agreed = [got == wanted for each in scored.values() for _, wanted, got in each]
    assert [int(number) for number in said.groups()] == [len(SHAPES), sum(agreed), len(agreed)]
    assert sum(agreed) >= 0.9 * len(agreed)
