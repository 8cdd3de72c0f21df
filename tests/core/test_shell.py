"""Commands that messages print are taken by a shell as they are meant."""

from __future__ import annotations

import shlex

from tidemark.core.shell import about, command


def test_each_argument_is_one_word_and_no_option():
    assert command("release", "a b.yml", "-1", options=("--reason", "late one")) == (
        "tidemark release --reason 'late one' -- 'a b.yml' -1"
    )
    assert shlex.split(command("run", "a b.yml", options=("--dry-run",)))[2:] == ["a b.yml", "--dry-run"]


def test_a_hint_is_about_a_file_of_any_name():
    said = about("`tidemark run CONFIG --wait`, `tidemark status CONFIG`: CONFIGS", "a b.yml")
    assert said == "`tidemark run 'a b.yml' --wait`, `tidemark status 'a b.yml'`: CONFIGS"
