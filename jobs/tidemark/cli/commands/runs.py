"""The commands on runs: each names its options, calls one method of the pipeline and returns its record as an
Answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tidemark import __version__
from tidemark.cli import completion
from tidemark.cli.commands.export import export, fitting, only_given, row_read, shown
from tidemark.cli.commands.init import init
from tidemark.cli.commands.options import as_json_option, config_argument, warm_option
from tidemark.cli.output import Answer, progress_bars
from tidemark.core.policy import FATES
from tidemark.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from tidemark.pipeline import Pipeline
    from tidemark.records.advice import AdviseRecord
    from tidemark.records.failures import ValidateRecord
    from tidemark.records.rows import ExplainRecord, PathRecord, TablePathRecord
    from tidemark.records.runs import DemoRecord, PlanRecord, ReleaseRecord, ReplayRecord, RunRecord
    from tidemark.records.status import StatusRecord

DEMO_FOLDER = Path("demo")


class InOrder(click.Group):
    """Lists its commands in the order of this module, which is the order in which they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="tidemark %(version)s")
@as_json_option
def tidemark() -> None:
    """Judge event data that lands late and out of order, with reproducible results.

    CONFIG is a pipeline's YAML file. A time (T) is ISO 8601 with Z or an offset, such as
    2026-01-01T08:00:00+02:00; a date, its midnight UTC; or an age, such as 2d or 1h30m, back from now.

    \b
    Exit status: 0 done; 1 a check failed; 2 bad usage or configuration;
    3 another run holds the pipeline; 4 anything else; 130, 143 interrupted.
    """


def _command(function: Callable[..., Answer[Any]]) -> click.Command:
    command: click.Command = tidemark.command(as_json_option(function))
    return command


def as_json() -> bool:
    """True if the command was asked for JSON."""
    return bool(click.get_current_context().obj)


@contextmanager
def opened(config: Path) -> Iterator[Pipeline]:
    """Open the pipeline of a file; shows its progress on a terminal's standard error."""
    from tidemark.pipeline import Pipeline

    with progress_bars() as progress:
        yield Pipeline.load(config, progress=progress)


tidemark.add_command(init)


@_command
@config_argument
@click.option("--deep", is_flag=True, help="Have Spark analyse all expressions, and try all suites; starts a JVM.")
def validate(config: Path, deep: bool) -> Answer[ValidateRecord]:
    """Check the configuration; touches nothing."""
    from tidemark.cli.text.runs import validate_text
    from tidemark.commands.summaries import validation
    from tidemark.pipeline import Pipeline

    try:
        pipeline = Pipeline.load(config)
        pipeline.validate(deep)
        errors, warnings = [], pipeline.warnings
    except ConfigError as error:
        errors, warnings = error.problems, []
    record = validation(errors, warnings)
    return Answer(record, validate_text(config), ConfigError.exit_code if errors else 0)


@_command
@config_argument
@warm_option
@click.option("--as-of", metavar="T", help="Take what had landed by then; default: now.")
@click.option("--run-id", metavar="ID", help="Name the run; an ID that is committed already is verified instead.")
@click.option("--max-files", type=click.IntRange(1), metavar="N", help="At most N objects in a micro-batch.")
@click.option("--dry-run", is_flag=True, help="Say what would be taken; change nothing, start no Spark.")
@click.option("--wait", is_flag=True, help="Wait for another run of this pipeline to end; default: exit 3.")
@click.option("--quality", type=click.Choice(["block", "warn", "record"]), help="What a failed check does.")
def run(config: Path, dry_run: bool, **options: Any) -> Answer[RunRecord] | Answer[PlanRecord]:
    """Take what has landed, judge it and commit it."""
    from tidemark.cli.text.runs import plan_text, run_text

    with opened(config) as pipeline:
        record = pipeline.run(dry_run=dry_run, **options)
    if record["run_id"] is None:
        return Answer(record, plan_text(config))
    differs = "verified" in record and record["verified"]["identical"] is False
    return Answer(record, run_text(config, pipeline), int(differs))


@_command
@config_argument
@warm_option
@click.option(
    "--source", metavar="S", shell_complete=completion.sources, help="Close this source only; default: all."
)
@click.option("--as-of", metavar="T", help="Take what had landed by then; default: now.")
def close(config: Path, source: str | None, as_of: str | None) -> Answer[RunRecord]:
    """Do a last run; the source then takes no more objects."""
    from tidemark.cli.text.runs import run_text

    with opened(config) as pipeline:
        return Answer(pipeline.close(source=source, as_of=as_of), run_text(config, pipeline))


@_command
@config_argument
@click.argument("run")
@click.option(
    "--reason", required=True, metavar="TEXT", help="Why it may be published; recorded with the run's checks."
)
def release(config: Path, run: str, reason: str) -> Answer[ReleaseRecord]:
    """Publish a run that quality blocked."""
    from tidemark.cli.text.runs import release_text

    with opened(config) as pipeline:
        return Answer(pipeline.release(run, reason), release_text(config))


@_command
@config_argument
@click.option("--run", metavar="ID", help="The batches of this run; default: of the last run.")
@click.option("--from-batch", type=click.IntRange(1), metavar="A", help="From this batch on.")
@click.option("--to-batch", type=click.IntRange(1), metavar="B", help="Up to this batch, with it.")
@click.option("--all", "all_batches", is_flag=True, help="All recorded batches.")
@click.option("--input", "read_from", type=click.Choice(["landing", "events"]), help="Where to read the rows again.")
def replay(config: Path, read_from: str | None, **which: Any) -> Answer[ReplayRecord]:
    """Compute recorded batches again and compare; writes nothing."""
    from tidemark.cli.text.runs import replay_text

    ranged = which["from_batch"] is not None or which["to_batch"] is not None
    if (which["run"] is not None) + ranged + which["all_batches"] > 1:
        raise UsageError("--run, --all and --from-batch/--to-batch exclude one another", hint="give one of them")
    with opened(config) as pipeline:
        record = pipeline.replay(**which, input=read_from)
    return Answer(record, replay_text, int(record["identical"] is False))


@_command
@config_argument
@click.option("--source", metavar="S", shell_complete=completion.sources, help="Only rows of this source.")
@click.option("--fate", type=click.Choice(FATES), help="Only rows with this fate.")
@click.option(
    "--reason",
    metavar="R",
    shell_complete=completion.reasons,
    help="Only rows with this reason: late, out_of_order, early, invalid_time ...",
)
@click.option("--partition", metavar="P", help="Only rows of this partition.")
@click.option("--since", metavar="T", help="Only rows that arrived at or after this time.")
@click.option("--until", metavar="T", help="Only rows that arrived before this time.")
@click.option("--batch", type=click.IntRange(1), metavar="N", help="Only rows of this batch.")
@click.option(
    "--dead-letters",
    metavar="STREAM",
    shell_complete=completion.streams,
    help="Only rows late for a window of this stream, once a window.",
)
@click.option(
    "--by",
    metavar="LIST",
    shell_complete=completion.dimensions,
    help="Counts instead: by source, partition, reason, fate, hour, day, file, run.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="At most so many rows in the table; csv and parquet hold all.",
)
@click.option("--format", "kind", type=click.Choice(["table", "csv", "parquet"]), default="table", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write csv or parquet there.")
def rows(config: Path, kind: str, out: Path | None, **filters: Any) -> Answer[Any]:
    """Show which rows met which fate, and why; newest first."""
    fitting(kind, out, as_json())
    options = only_given(filters, kind)
    with opened(config) as pipeline:
        if kind == "table":
            return shown(pipeline, config, options)
        given = click.get_current_context().get_parameter_source("limit") is not ParameterSource.DEFAULT
        options["limit"] = options["limit"] if given else None
        return export(pipeline, kind, out, options)


@_command
@config_argument
@click.argument("source", shell_complete=completion.sources)
@click.argument("partition", required=False)
@click.argument("offset", type=click.IntRange(0), required=False)
def explain(config: Path, source: str, partition: str | None, offset: int | None) -> Answer[ExplainRecord]:
    """Show one row's story: its times, each step, what set the watermark. With `-` instead of the three, the row is
    read from standard input, as `rows --json` prints it."""
    from tidemark.report.text import explanation_view

    chosen = row_read(sys.stdin.read()) if source == "-" else source
    with opened(config) as pipeline:
        return Answer(pipeline.explain(chosen, partition, offset), explanation_view)


@_command
@config_argument
def status(config: Path) -> Answer[StatusRecord]:
    """Show how far each partition has come, and the last runs."""
    from tidemark.cli.text.why import status_text

    with opened(config) as pipeline:
        return Answer(pipeline.status().record, status_text(pipeline))


@_command
@config_argument
@click.option(
    "--source", metavar="S", shell_complete=completion.sources, help="Advise on this source only; default: all."
)
@click.option("--target-dropped", metavar="P", help="At most this share of rows dropped, such as 1%.")
@click.option("--target-adjusted", metavar="P", help="At most this share of rows adjusted, such as 5%.")
@click.option("--late", metavar="LIST", help="Late tolerances to try, such as 0s,5s,1m; default: from the rows.")
@click.option("--out-of-order", metavar="LIST", help="Out-of-order tolerances to try; default: from the rows.")
def advise(config: Path, **options: Any) -> Answer[AdviseRecord]:
    """Show what other tolerances would have cost, and recommend the smallest."""
    from tidemark.cli.text.advice import advice_text

    with opened(config) as pipeline:
        return Answer(pipeline.advise(**options).record, advice_text(config))


@_command
@config_argument
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Default: PIPELINE-report.html here.")
@click.option("--samples/--no-samples", default=True, help="Whether the page has texts of rows that can't be read.")
def report(config: Path, out: Path | None, samples: bool) -> Answer[PathRecord]:
    """Write one HTML page with charts of the fates of rows."""
    from tidemark.cli.text.runs import report_text

    with opened(config) as pipeline:
        return Answer(pipeline.report(out, samples=samples).record, report_text)


@_command
@config_argument
@click.argument("table", shell_complete=completion.tables)
def path(config: Path, table: str) -> Answer[TablePathRecord]:
    """Print the folder of a table, such as events/SOURCE or batches."""
    from tidemark.cli.text.runs import path_text

    with opened(config) as pipeline:
        return Answer(record := pipeline.path(table), path_text, warnings=record["warnings"])


@_command
def demo() -> Answer[DemoRecord]:
    """Judge a year of real flights in ./demo, replay it and write its report."""
    from tidemark.demo.show import run_demo

    def say(text: str = "") -> None:
        click.echo(text, err=as_json())

    with progress_bars() as progress:
        return Answer(run_demo(DEMO_FOLDER, say, progress=progress))
