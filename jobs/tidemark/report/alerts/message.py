"""One message about a run, as plain text, as HTML for mail, and for chats that read Slack's markup.

Its texts may come from landed files. Every form escapes them, so that a file's name is never markup, a link, or a
mention of everybody in a chat.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tidemark.report.page.markup import Html, bullets, element, paragraph, text
from tidemark.report.text import safe

LONGEST_LINE = 1_000
"""Most characters of one line; a longer one is cut in the middle."""
_CHAT = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_CALL = re.compile(r"@(?=(?:all|channel|everyone|here)\b)", re.IGNORECASE)
"""The calls of Mattermost and others, which need no markup: a space without width ends them."""


@dataclass(frozen=True)
class MessagePart:
    """Lines under a heading; `code`: they are commands."""

    heading: str
    lines: Sequence[str]
    code: bool = False


@dataclass(frozen=True)
class RunMessage:
    """A message about a run: a subject of one line, a sentence, parts (those without lines are left out), and
    addresses of pages by name."""

    subject: str
    sentence: str
    parts: Sequence[MessagePart] = ()
    links: Sequence[tuple[str, str]] = ()

    @cached_property
    def _shown(self) -> list[MessagePart]:
        return [part for part in self.parts if part.lines]

    def text(self) -> str:
        """Return it as plain text."""
        parts = [[f"{part.heading}:", *(f"  {_line(line)}" for line in part.lines)] for part in self._shown]
        pages = [f"{name}: {address}" for name, address in self.links]
        return "\n\n".join("\n".join(each) for each in ([_line(self.sentence)], *parts, pages) if each)

    def html(self) -> Html:
        """Return it as HTML without a page around it."""
        parts = [
            element("div", element("h4", part.heading), bullets(_html_line(line, part.code) for line in part.lines))
            for part in self._shown
        ]
        pages = [paragraph(element("a", name, href=address)) for name, address in self.links]
        return element("div", paragraph(_line(self.sentence)), *parts, *pages)

    def chat(self) -> str:
        """Return it as text for Slack, and for chats that read Slack's messages."""
        said = "".join(_CHAT.get(char, char) for char in f"{safe(self.subject)}\n{self.text()}")
        return _CALL.sub("@\u200b", said)

    def fields(self) -> dict[str, str]:
        """Return its forms by name, as templates of notifiers read them."""
        return {
            "subject": safe(self.subject),
            "text": self.text(),
            "html": self.html(),
            "chat": self.chat(),
        }


def _html_line(line: str, code: bool) -> Html:
    return element("code", _line(line)) if code else text(_line(line))


def _line(line: str) -> str:
    """Return one line of printable characters, not too long."""
    shown = safe(" ".join(line.split("\n")))
    half = LONGEST_LINE // 2
    return shown if len(shown) <= LONGEST_LINE else f"{shown[:half]} ... {shown[-half:]}"
