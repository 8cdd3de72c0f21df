"""Private names of PySpark, Py4J and Spark are touched in one room, and a page lists them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
JOBS = ROOT / "jobs"
ROOM = JOBS / "tidemark" / "spark" / "compat"
PAGE = ROOT / "docs" / "compat.md"
PRIVATE = re.compile(
    r"\._(?:jvm|jsc|jdf|jc|jsparkSession|gateway\w*|active_spark_context|ensure_initialized|instantiatedSession"
    r"|activeSession|get_j_spark\w*|fqn|jvm_id)\b"
    r"|\blaunch_gateway\b|\bListConverter\b|\bPythonUtils\b|\bqueryExecution\b|\bexecutedPlan\b|\bwithNewChildren\b"
    r"|\borg\.apache\.spark\.(?!sql\.delta\.catalog|sql\.functions|SparkContext)[\w.]+"
)
CODE = [path for folder in ("jobs", "dags", "plugins") for path in sorted((ROOT / folder).rglob("*.py"))]


def private_names(text: str) -> set[str]:
    """The private names in a text, without what is before their last dot."""
    return {found.rpartition(".")[2] for found in PRIVATE.findall(text)}


def test_private_names_are_touched_in_the_room_alone():
    others = [path for path in CODE if ROOM not in path.parents]
    found = {str(path.relative_to(ROOT)): private_names(path.read_text()) for path in others}
    assert {path: names for path, names in found.items() if names} == {}


def test_the_page_lists_each_private_name_of_the_room():
    page = PAGE.read_text()
    names = set().union(*[private_names(path.read_text()) for path in ROOM.glob("*.py")])
    assert len(names) > 10
    assert {name for name in names if name not in page} == set()
