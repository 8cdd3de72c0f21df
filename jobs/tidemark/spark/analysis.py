"""Analyses a configuration with Spark's own analyser and planner before anything is recorded under it.

Sources and streams are built over empty frames of the declared types, as a run builds them over rows. So what Spark
refuses is an error of the configuration, and a run that could not finish is never planned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, reduce

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType

from tidemark.config import PipelineSpec, SourceSpec
from tidemark.config.models.stream_graph import columns_of, in_order
from tidemark.config.models.streams import StreamSpec
from tidemark.config.rules.streams import unequal
from tidemark.config.sql.expressions import binary_key
from tidemark.errors import ConfigError, Problem, first_line
from tidemark.spark.columns import BLOCK, CORRUPT, JUDGED, PATH, RANK, ROW, SOURCE, TEXT, WINDOW
from tidemark.spark.compat.plans import require_plan
from tidemark.spark.expressions import value_of
from tidemark.spark.read import landed_rows
from tidemark.spark.streams import stream_rows, windows
from tidemark.spark.streams.gaps import joined
from tidemark.spark.streams.joins import Side
from tidemark.spark.streams.operators import steps
from tidemark.spark.streams.operators.rows_before import with_preceding
from tidemark.spark.streams.operators.unnest import unnested
from tidemark.spark.tables.delta import quoted
from tidemark.spark.tables.time_range import Span
from tidemark.spark.validity import column_of
from tidemark.storage import Location, is_table

_STORED = frozenset({
    "string", "boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "date", "timestamp",
    "timestamp_ntz", "binary",
})  # fmt: skip
_BINARY_ORDER = "UTF8_BINARY"


def analyse(spark: SparkSession, spec: PipelineSpec, strict: bool = False) -> dict[str, DataFrame]:
    """Return empty frames of all sources and streams by name. Raises ConfigError with all that Spark refuses, each
    with its configuration key; if `strict`, also for conditions that are not BOOLEAN."""
    found: list[Problem] = []
    rows: dict[str, DataFrame] = {}
    with _unlogged():
        for name, source in spec.sources.items():
            rows[name] = _of_source(spark, source)
            found += _problems(spec, f"sources.{name}", partial(_check_source, spark, source))
        for name in in_order(spec.streams):
            step = spec.streams[name]
            if all(each in rows for each in step.inputs):
                found += _problems(spec, f"streams.{name}", partial(_add, rows, spec, step))
        if strict and not found:
            found = list(_conditions(rows, spec))
    if found:
        raise ConfigError(found)
    return rows


def _conditions(rows: Mapping[str, DataFrame], spec: PipelineSpec) -> Iterator[Problem]:
    """Problems of `require` and `where` that are not BOOLEAN. A run accepts them: any number but 0 counts as true."""
    spark = next(iter(rows.values())).sparkSession
    for name, source in spec.sources.items():
        for key, text in source.require.items():
            yield from _no_boolean(spec, _landed(spark, source), text, f"sources.{name}.require.{key}")
    for name, step in spec.streams.items():
        if step.where is None or step.join:
            continue
        whole, payload = _inputs(rows, spec, step)
        whole, payload = unnested(whole, step.unnest, payload, name) if step.unnest else (whole, payload)
        whole, _ = with_preceding(whole, step, payload, steps.order_of(whole))
        yield from _no_boolean(spec, whole, step.where, f"streams.{name}.where")


def _no_boolean(spec: PipelineSpec, rows: DataFrame, text: str, key: str) -> Iterator[Problem]:
    kind = value_of(rows, text, key)[1]
    if kind.typeName() not in ("boolean", "void"):
        said = f"{text!r} is {kind.simpleString().upper()}, not true or false: compare it with something"
        yield Problem(str(spec.path), key, said)


@contextmanager
def _unlogged() -> Iterator[None]:
    """Stop PySpark from logging refused expressions with a stack trace: tidemark reports each of them itself."""
    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    before = [each.disabled for each in loggers]
    for each in loggers:
        each.disabled = True
    try:
        yield
    finally:
        for each, disabled in zip(loggers, before, strict=True):
            each.disabled = disabled


def require_columns(
    rows: Mapping[str, DataFrame], spec: PipelineSpec, root: Location, returned: Collection[str]
) -> None:
    """Raise ConfigError for a stream whose columns in `rows` (from `analyse`) have other types than in its table
    below `root`. A stream in `returned` must also have exactly the columns of its table."""
    found = []
    for name, step in spec.streams.items():
        location = root / f"streams/{name}"
        if not (step.published and is_table(location)):
            continue
        table = rows[name].sparkSession.read.format("delta").load(str(location))
        was, now = ({each.name: each.dataType.simpleString() for each in of.schema} for of in (table, rows[name]))
        own = {column.name for column in columns_of(spec, name) or ()} | was.keys()
        for column in sorted(own if name in returned else was.keys() & now.keys()):
            if was.get(column) != now.get(column):
                kinds = f"was {was.get(column, 'not there')}, is now {now.get(column, 'not there')}"
                said = f"the column {column} {kinds}: give the changed stream a name of its own"
                found.append(Problem(str(spec.path), f"streams.{name}", said))
    if found:
        raise ConfigError(found)


def empty_rows(spark: SparkSession, spec: PipelineSpec, name: str) -> DataFrame:
    """An empty frame of the rows of one source or stream."""
    if name in spec.sources:
        return _of_source(spark, spec.sources[name])
    step = spec.streams[name]
    return _step({each: empty_rows(spark, spec, each) for each in step.inputs}, spec, step)


def table(rows: Mapping[str, DataFrame], name: str, columns: Mapping[str, str | None]) -> DataFrame:
    """Empty frame of the table `name` with these `columns` (name to type), from the rows of `analyse`."""
    found = rows[name.partition("/")[2]]
    known = {each.lower() for each in found.columns}
    lacking = {each: F.lit(None).cast(kind) for each, kind in columns.items() if kind and each.lower() not in known}
    return found.select(*[lacking[each].alias(each) if each in lacking else quoted(each) for each in columns])


def _problems(spec: PipelineSpec, key: str, build: Callable[[], None]) -> list[Problem]:
    """Problems that `build` raises, with the file and the whole key."""
    try:
        build()
    except ConfigError as error:
        return [
            Problem(
                str(spec.path), each.key if each.key.startswith("streams.") else f"{key}.{each.key}", each.message
            )
            for each in error.problems
        ]
    except (PySparkException, Py4JJavaError) as error:
        cause = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
        return [Problem(str(spec.path), key, f"Spark refuses it: {first_line(cause)}")]
    return []


def _check_source(spark: SparkSession, source: SourceSpec) -> None:
    rows = _landed(spark, source)
    found = list(_binary_keys(rows, source))
    if found:
        raise ConfigError(found)
    require_plan(rows)


def _binary_keys(rows: DataFrame, source: SourceSpec) -> Iterator[Problem]:
    """Problems of keys that hold BINARY, in rows as they come from landing: text cannot show all bytes."""
    keys = [
        *[("over", text) for text in source.over],
        *[("shape.edge.match", text) for text in source.lifetimes.match],
    ]
    if source.partition is not None and source.partition.column is not None:
        keys.append(("partition.column", source.partition.column))
    for key, text in keys:
        kind = value_of(rows, text, key)[1]
        if any(isinstance(part, BinaryType) for part in _parts(kind)):
            yield Problem("", key, binary_key(text, kind.simpleString().upper()))


def _landed(spark: SparkSession, source: SourceSpec) -> DataFrame:
    """The rows of a source as they come from landing."""
    kinds = ", ".join([f"{column_of(column.name)} {column.type}" for column in source.columns])
    parsed = _empty(spark, f"{kinds}, {CORRUPT} BOOLEAN, {TEXT} STRING, {PATH} STRING, {BLOCK} BIGINT, {ROW} BIGINT")
    return landed_rows.judgeable(source, parsed)


def _of_source(spark: SparkSession, source: SourceSpec) -> DataFrame:
    """The rows of a source's stream."""
    kinds = [f"{column_of(column.name)} {column.type}" for column in source.columns]
    own = [f"{name} {stream_rows.kind_of(name)}" for name in stream_rows.SYSTEM]
    return _of_stream(_empty(spark, ", ".join([*own, *kinds])))


def _of_stream(rows: DataFrame) -> DataFrame:
    return rows.withColumns({RANK: F.lit(0), SOURCE: F.lit(""), JUDGED: F.lit(True)})


def _add(rows: dict[str, DataFrame], spec: PipelineSpec, step: StreamSpec) -> None:
    """Add a stream's frame to `rows`, for the streams that read it."""
    found = _step(rows, spec, step)
    own = {name.lower() for name in step.parts}
    for name in [column.name for column in columns_of(spec, step.name) or () if column.name.lower() not in own]:
        key = "group_by" if name in step.group_by else "select"
        _require_stored(f"streams.{step.name}.{key}.{name}", found.schema[name].dataType)
    require_plan(found)
    rows[step.name] = found


def _step(rows: Mapping[str, DataFrame], spec: PipelineSpec, step: StreamSpec) -> DataFrame:
    if step.join:
        left, right = (Side(name, rows[name], steps.names_of_order(rows[name]), None) for name in step.join)
        pairs = joined(step, left, right, 0, Span())
        rest = [name for name in stream_rows.SYSTEM if name not in pairs.columns]
        return _of_stream(
            pairs.select("*", *[F.lit(None).cast(stream_rows.kind_of(name)).alias(name) for name in rest])
        )
    whole, payload = _inputs(rows, spec, step)
    stepped, _ = steps.stepped(whole, step, payload, last=True)
    return _windows(stepped, spec, step) if step.windowed else stepped


def _inputs(rows: Mapping[str, DataFrame], spec: PipelineSpec, step: StreamSpec) -> tuple[DataFrame, list[str]]:
    """Rows that reach a step without a join, and their payload columns."""
    frames = [rows[name] for name in step.inputs]
    payload = [column.name for column in columns_of(spec, step.inputs[0]) or ()]
    _require_equal_types(frames, step, payload)
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames), payload


def _require_equal_types(frames: Sequence[DataFrame], step: StreamSpec, payload: Sequence[str]) -> None:
    """Raise ConfigError for payload columns whose types differ between the inputs of a union. Spark would convert
    them to a common type, which the rows of one input alone do not have."""
    first, *others = (
        {name: kinds[name.lower()].simpleString().upper() for name in payload} for kinds in map(_kinds, frames)
    )
    found = [
        Problem("", f"union[{number}]", unequal(name, {step.inputs[0]: kind, step.inputs[number]: kinds[name]}))
        for number, kinds in enumerate(others, 1)
        for name, kind in first.items()
        if kinds[name] != kind
    ]
    if found:
        raise ConfigError(found)


def _kinds(rows: DataFrame) -> dict[str, DataType]:
    """Types of columns by their names in lower case."""
    return {field.name.lower(): field.dataType for field in rows.schema}


def _windows(rows: DataFrame, spec: PipelineSpec, step: StreamSpec) -> DataFrame:
    types = {column.name.lower(): column.type for column in columns_of(spec, step.inputs[0]) or ()}
    counted = rows.withColumn(WINDOW, F.lit(0).cast("long"))
    found = windows.aggregated(counted, step, step.fixed, types, alone=True)
    given = {"_system_timestamp": F.col("_window_start"), "_end_time": F.col("_window_end")}
    rest = [name for name in stream_rows.SYSTEM if name not in (*found.columns, *given)]
    return _of_stream(found.withColumns(given | {name: F.lit(None).cast(stream_rows.kind_of(name)) for name in rest}))


def _require_stored(key: str, kind: DataType) -> None:
    other = _not_stored(kind)
    if other is not None:
        raise ConfigError(
            [
                Problem(
                    "", key, f"gives {other.simpleString()}, which no table holds: cast it, as in cast(... AS STRING)"
                )
            ]
        )


def _not_stored(kind: DataType) -> DataType | None:
    """First part of a type that not every reader of the tables knows; None if all parts are known."""
    return next((part for part in _parts(kind) if part.typeName() not in _STORED or _collated(part)), None)


def _collated(kind: DataType) -> bool:
    return isinstance(kind, StringType) and kind.collation != _BINARY_ORDER


def _parts(kind: DataType) -> Iterator[DataType]:
    """The types of the single values that values of a type consist of."""
    if isinstance(kind, StructType):
        inner = [field.dataType for field in kind]
    elif isinstance(kind, MapType):
        inner = [kind.keyType, kind.valueType]
    elif isinstance(kind, ArrayType):
        inner = [kind.elementType]
    else:
        yield kind
        return
    for each in inner:
        yield from _parts(each)


def _empty(spark: SparkSession, schema: str) -> DataFrame:
    """An empty frame that Spark does not know to be empty: it plans as if there were rows."""
    return spark.createDataFrame(spark.sparkContext.emptyRDD(), schema)
