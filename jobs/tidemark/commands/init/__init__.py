"""The command `init`: proposes the configuration of a landing folder, or checks an existing one against it."""

from __future__ import annotations

from tidemark.commands.init.check import check
from tidemark.commands.init.propose import MOST_LISTED, init

__all__ = ["MOST_LISTED", "check", "init"]
