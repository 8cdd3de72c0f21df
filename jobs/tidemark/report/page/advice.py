"""The part of a page about candidate tolerances and their cost."""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.core.shell import command
from tidemark.report.advice import behind, cost, target, tolerance
from tidemark.report.page.charts.tolerances import delay_picture, moved_picture
from tidemark.report.page.data.advised import Advised
from tidemark.report.page.data.answers import Answers
from tidemark.report.page.data.tables import Row
from tidemark.report.page.markup import Cell, Html, element, figure, paragraph, section, table
from tidemark.report.words import counted, duration, moment_of

_TITLE = "Other tolerances"


def tolerances(answers: Answers) -> Html:
    """Return the section with the last advice on each source and its date."""
    advise = element("code", command("advise", answers.tables.config))
    if not answers.advised:
        note = paragraph("What other tolerances would have cost is not kept here: ", advise, " finds it.")
        return section("tolerances", _TITLE, note)
    inner = [each for advised in answers.advised for each in _source(advised, answers.tables.scope.last)]
    return section("tolerances", _TITLE, *inner, paragraph(advise, " makes it anew.", class_="quiet"))


def _source(advised: Advised, last: int) -> Iterator[Html]:
    name, later = advised.source, last - advised.batch_id
    sentence = (
        f"{name}: made of all rows up to batch {advised.batch_id:,}, of the run as of {moment_of(advised.as_of)}."
    )
    yield paragraph(sentence, f" Not in it: {counted(later, 'later batch', 'es')}." if later > 0 else "")
    yield paragraph(f"{_cell('At present', advised.present)} {_best(advised)}")
    for fate in ("adjusted",) if advised.alike else ("adjusted", "dropped"):
        yield figure(f"tolerances-{fate}-{name}", moved_picture(advised, fate))
    yield figure(f"tolerances-delay-{name}", delay_picture(advised))
    heads = ("late", "out_of_order", "adjusted, if adjusted", "dropped, if dropped", "behind", "at most", "")
    yield table(f"tolerances-{name}", heads, map(_line, advised.cells))


def _best(advised: Advised) -> str:
    best = advised.recommended
    asked = target(advised.present["target_dropped"], advised.present["target_adjusted"])
    if best is None:
        return f"No pair of tolerances meets the target ({asked})."
    return _cell(f"Recommended for {asked}", best)


def _cell(title: str, cell: Row) -> str:
    pair = f"late {tolerance(cell['late'])}, out_of_order {tolerance(cell['out_of_order'])}"
    return f"{title}: {pair}: {cost(cell['rows'], cell['own_adjusted'], cell['own_dropped'], cell['delay'])}."


def _line(cell: Row) -> list[Cell]:
    mark = ", ".join(name for name in ("present", "recommended") if cell[name])
    longest = None if cell["longest_delay"] is None else duration(cell["longest_delay"])
    pair = [tolerance(cell["late"]), tolerance(cell["out_of_order"])]
    return [*pair, cell["adjusted"], cell["dropped"], behind(cell["delay"]), longest, mark]
