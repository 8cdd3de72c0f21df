"""Options and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

from tidemark.cli import completion
from tidemark.cli.warm.client import OPTION

as_json_option = click.option(
    "--json", is_flag=True, expose_value=False, help="Print one JSON object and nothing else."
)
warm_option = click.option(
    OPTION, is_flag=True, expose_value=False, help="Run in the session of `tidemark serve`, if there is one."
)
config_argument = click.argument("config", type=click.Path(path_type=Path), shell_complete=completion.pipeline_files)
