"""Describes the inputs and outputs of a run for OpenLineage: datasets, columns, rows by fate, checks.

Airflow's provider for OpenLineage, if it is installed and configured, asks the task `process` for this and sends it.
Datasets are named by their locations, as OpenLineage does: namespace `file` and a path, or a bucket (`s3://bucket`)
and a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import define
from openlineage.client import facet_v2 as facets
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    column_lineage_dataset,
    data_quality_assertions_dataset,
    dataset_version_dataset,
    input_statistics_input_dataset,
    output_statistics_output_dataset,
    schema_dataset,
)

from tidemark.config.address import RemoteLocation, is_remote
from tidemark.config.column_lineage import TableLineage, events_lineage, streams_lineage
from tidemark.core.batch_result import total
from tidemark.core.quality import Check
from tidemark.storage import dataset_of, is_table, location_of

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage

    from tidemark.pipeline import Pipeline


@define
class TidemarkRunFacet(facets.RunFacet):
    """Results of a run: its status, rows by fate for each source, and every check."""

    run_id: str
    status: str
    fates: dict[str, dict[str, int]]
    checks: list[dict[str, Any]]


def run_lineage(pipeline: Pipeline, run_id: str) -> OperatorLineage[Any, Any]:
    """Return the lineage of a run. If the run is not recorded, because it verified another one or failed before its
    plan, the datasets have no counts."""
    from airflow.providers.openlineage.extractors import OperatorLineage

    run = _Run(pipeline, run_id)
    return OperatorLineage(
        inputs=list(run.landing()), outputs=[*run.events(), *run.streams()], run_facets=run.run_facets()
    )


class _Run:
    def __init__(self, pipeline: Pipeline, run_id: str) -> None:
        self.pipeline, self.spec, ledger = pipeline, pipeline.spec, pipeline.ledger
        known = ledger.run(run_id)
        self.run_id = run_id
        self.batches = ledger.batches(known.first, known.last) if known else []
        self.checks = ledger.checks(known.last) if known else ()

    def landing(self) -> Iterator[InputDataset]:
        """The landing location of each source, with the rows read and the checks of its events."""
        for name, source in self.spec.sources.items():
            in_files = {column: given for given, column in source.header_columns.items()}
            columns = {in_files.get(each.name, each.name): each.type for each in source.columns}
            of_run: dict[str, Any] = {}
            if self.batches:
                rows = sum(self._fates(name).values())
                of_run["inputStatistics"] = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
                    rowCount=rows
                )
            if found := [check for check in self.checks if check.table == f"events/{name}"]:
                of_run["dataQualityAssertions"] = _assertions(found)
            yield InputDataset(*_named(source.landing), facets={"schema": _schema(columns)}, inputFacets=of_run)

    def events(self) -> Iterator[OutputDataset]:
        """The events table of each source."""
        for name, source in self.spec.sources.items():
            rows = sum(self._fates(name).values()) if self.batches else None
            yield self._table(f"events/{name}", events_lineage(source), {name: source.landing}, rows)

    def streams(self) -> Iterator[OutputDataset]:
        """The table of each published stream."""
        ends = {name: end.rows for batch in self.batches for name, end in batch.streams.items()}
        events = {name: self.pipeline.path(f"events/{name}")["path"] for name in self.spec.sources}
        for name, lineage in streams_lineage(self.spec).items():
            if self.spec.streams[name].published:
                yield self._table(f"streams/{name}", lineage, events, ends.get(name))

    def run_facets(self) -> dict[str, Any]:
        """The facet of the run; empty if the run is not recorded."""
        if not self.batches:
            return {}
        fates = {name: self._fates(name) for name in self.spec.sources}
        checks = [
            {
                "table": check.table,
                "expectation": check.expectation,
                "observed": check.observed,
                "limit": check.limit,
                "success": check.success,
            }
            for check in self.checks
        ]
        return {"tidemark": TidemarkRunFacet(self.run_id, self.batches[-1].status, fates, checks)}

    def _fates(self, source: str) -> dict[str, int]:
        fates, _ = total(each for batch in self.batches for each in batch.accounts if each.source == source)
        return {fate.value: count for fate, count in fates.items()}

    def _table(self, name: str, lineage: TableLineage, inputs: Mapping[str, Any], rows: int | None) -> OutputDataset:
        location = self.pipeline.path(name)["path"]
        version = str(self.pipeline.ledger.version)
        found: dict[str, Any] = {
            "version": dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=version),
            "columnLineage": _column_lineage(lineage, inputs),
        }
        if is_table(location):
            found["schema"] = _schema(
                {field.name: str(field.type) for field in dataset_of(location_of(location)).schema}
            )
        counted = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=rows)
        given: dict[str, Any] = {} if rows is None else {"outputStatistics": counted}
        return OutputDataset(*_named(location), facets=found, outputFacets=given)


def _named(location: str) -> tuple[str, str]:
    """Namespace and name of a dataset: `s3://bucket` and a key, or `file` and a path."""
    if is_remote(location):
        found = RemoteLocation(location)
        return str(found.root), found.key or "/"
    return "file", location


def _schema(columns: Mapping[str, str]) -> schema_dataset.SchemaDatasetFacet:
    fields = [schema_dataset.SchemaDatasetFacetFields(name=name, type=kind) for name, kind in columns.items()]
    return schema_dataset.SchemaDatasetFacet(fields=fields)


def _column_lineage(lineage: TableLineage, inputs: Mapping[str, Any]) -> Any:
    """The facet of a table with columns made from columns of `inputs`, which are locations by source."""
    made = column_lineage_dataset
    fields = {}
    for name, column in lineage.items():
        how = made.Transformation(type="DIRECT", subtype=column.derivation.upper())
        read = [
            made.InputField(*_named(inputs[each.source]), field=each.name, transformations=[how])
            for each in sorted(column.inputs)
        ]
        if read:
            fields[name] = made.Fields(inputFields=read)
    return made.ColumnLineageDatasetFacet(fields=fields)


def _assertions(checks: Iterable[Check]) -> data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet:
    made = data_quality_assertions_dataset
    found = [
        made.Assertion(
            assertion=check.expectation,
            success=check.success,
            severity="error" if check.severity == "block" else "warn",
            expected=None if check.limit is None else f"{check.limit:.15g}",
            actual=None if check.observed is None else f"{check.observed:.15g}",
        )
        for check in checks
    ]
    return made.DataQualityAssertionsDatasetFacet(assertions=found)
