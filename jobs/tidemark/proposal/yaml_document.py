"""The annotated configuration as YAML text."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from tidemark.core.shell import command
from tidemark.core.times import format_time
from tidemark.proposal.guesses import Guess, guesses_of, touched
from tidemark.proposal.propose import ProposedSource
from tidemark.proposal.settings import Setting, settings_of

WIDTH = 116
_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./ ()-]*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off"}


def document(pipeline: str, path: str, sources: Sequence[ProposedSource], notes: Sequence[str]) -> str:
    """Return the text of the file `path`: every proposed key with its remarks; suggested keys are comments."""
    lines = [
        *_remark(f"Proposed by `tidemark init` from a sample: {_taken(sources)}.", ""),
        "# What a sample does not show may be otherwise. Correct what you know better, then check and run it:",
        f"#   {command('validate', path)}",
        f"#   {command('run', path, options=('--dry-run',))}",
        "# After the first run `tidemark advise` says what tolerances cost, counted over all rows.",
        *(line for note in notes for line in _remark(note, "")),
        "# Guessed, the most expensive first, with what it touches, as proposed or if it is otherwise:",
        *(line for name, each in guesses_of(sources) for line in _guess(name, each)),
        "",
        f"pipeline: {pipeline}",
        "",
        "sources:",
    ]
    for source in sources:
        lines += _source(source)
    return "\n".join(lines).rstrip() + "\n"


def _guess(name: str, guess: Guess) -> Iterator[str]:
    first, *more = _remark(f"{name}.{guess.key}: {guess.message} ({touched(guess.rows, guess.effect)}).", "  ")
    yield f"# -{first[3:]}"
    yield from (f"#  {line[3:]}" for line in more)


def _taken(sources: Sequence[ProposedSource]) -> str:
    rows = sum(source.sample.rows for source in sources)
    looked = sum(len(source.sample.objects) for source in sources)
    objects = [item for source in sources for item in source.objects]
    first, last = min(item.modified for item in objects), max(item.modified for item in objects)
    landed = f"landed {format_time(first)} to {format_time(last)}"
    return f"{rows:,} rows of {looked} of {len(objects):,} objects, {landed}"


def _source(source: ProposedSource) -> Iterator[str]:
    yield f"  {source.name}:"
    for index, setting in enumerate(settings_of(source)):
        if setting.remarks and index:
            yield ""
        yield from _setting(setting)
    yield ""


def _setting(setting: Setting) -> Iterator[str]:
    for text in setting.remarks:
        yield from _remark(text, "    ")
    if setting.value is None:
        yield f"    # {setting.key}: {setting.hint}"
    elif setting.key == "schema":
        yield "    schema: >-"
        yield from _folded(setting.value)
    else:
        yield f"    {setting.key}: {_value(setting.value)}"


def _remark(text: str, indent: str) -> Iterator[str]:
    clean = re.sub(r"[^\S ]|[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", text)
    yield from (f"{indent}# {line}" for line in textwrap.wrap(clean, WIDTH - len(indent) - 2, break_long_words=False))


def _folded(columns: Sequence[str]) -> Iterator[str]:
    """Yield the columns in lines that YAML joins again with single blanks."""
    line = ""
    for index, column in enumerate(columns):
        text = column + "," * (index < len(columns) - 1)
        if line and len(line) + 1 + len(text) > WIDTH - 6:
            yield f"      {line}"
            line = ""
        line = f"{line} {text}".lstrip()
    yield f"      {line}"


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_value(key)}: {_value(each)}" for key, each in value.items()) + "}"
    text = str(value)
    if text == "off" or (_PLAIN.fullmatch(text) and text.lower() not in _WORDS and not text.endswith(" ")):
        return text
    if re.fullmatch(r"[0-9]+(us|ms|s|m|h|d)", text):
        return text
    return json.dumps(text, ensure_ascii=False)
