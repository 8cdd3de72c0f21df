"""Private names of PySpark, Py4J and Spark are touched in one room, and a page lists them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidemark.spark.compat.plain import Way

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
JAVA = ROOT / "jvm" / "src" / "main" / "java" / "tidemark"
JAVA_NAME = re.compile(r"\b((?:org\.apache\.(?:spark|hadoop)|io\.delta)(?:\.[a-z]\w*)+\.[A-Z]\w*\$?)")
JAVA_PUBLIC = re.compile(
    r"org\.apache\.spark\.(?:(?:Spark|Task)Context$|util\.(?:AccumulatorV2|TaskCompletionListener)$|sql\.(?:"
    r"(?:Column|Dataset|Row|RowFactory|SaveMode|SparkSession|util\.CaseInsensitiveStringMap)$"
    r"|(?:api\.java|expressions|types|connector)\.))|org\.apache\.hadoop\.(?!fs\.impl\.)"
)
"""What Spark and Hadoop document for users of their interfaces."""
CODE = [path for folder in ("jobs", "dags") for path in sorted((ROOT / folder).rglob("*.py"))]


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


def private_classes(package: Path) -> set[str]:
    """The classes of Spark, Delta and Hadoop that a Java package names and that are not public."""
    named = {name for path in package.glob("*.java") for name in JAVA_NAME.findall(path.read_text())}
    return {name.rpartition(".")[2] for name in named if not JAVA_PUBLIC.match(name)}


def listed_classes() -> dict[str, set[str]]:
    """The private classes on the page, by Java package."""
    found: dict[str, set[str]] = {}
    part = PAGE.read_text().partition("\n## Java\n")[2].partition("\n## ")[0]
    for package, classes in re.findall(r"^\| `(\w+)` \| ([^|]+) \|", part, re.MULTILINE):
        found.setdefault(package, set()).update(re.findall(r"`([\w$]+)`", classes))
    return found


def test_the_page_lists_each_private_class_of_the_java_module():
    listed = listed_classes()
    used = {package.name: private_classes(package) for package in JAVA.iterdir() if package.is_dir()}
    assert sum(map(len, used.values())) > 50
    missing = {name: classes - listed.get(name, set()) for name, classes in used.items()}
    assert {name: classes for name, classes in missing.items() if classes} == {}


def test_each_private_class_on_the_page_is_used():
    text = {name: "".join(path.read_text() for path in (JAVA / name).glob("*.java")) for name in listed_classes()}
    unused = {
        name: {each for each in classes if not re.search(rf"\b{re.escape(each)}", text[name])}
        for name, classes in listed_classes().items()
    }
    assert {name: classes for name, classes in unused.items() if classes} == {}


@pytest.mark.parametrize("way", Way, ids=lambda way: way.name)
def test_the_page_names_each_public_way_and_the_classes_that_the_private_one_needs(way):
    (line,) = re.findall(rf"^\| `{way.name}` \|.*$", PAGE.read_text(), re.MULTILINE)
    assert {name for name in way.value if f"`{name.rpartition('.')[2]}`" not in line} == set()
