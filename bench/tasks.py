"""How evenly Spark's tasks shared the rows, from Spark's own metrics (kept without its web pages)."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Shared:
    """Rows that each task of one stage read from a shuffle."""

    stage: int
    rows: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.rows)

    @property
    def skew(self) -> float:
        """The largest task over the mean of all, idle ones included."""
        return max(self.rows) * len(self.rows) / self.total


def last_stage(spark: SparkSession) -> int:
    """The greatest id of a stage so far; -1 without any."""
    return max((stage.stageId() for stage in _stages(spark)), default=-1)


def stages_since(spark: SparkSession, stage: int, rows: int) -> list[Shared]:
    """The stages after `stage` that read at least half of `rows` rows from a shuffle: those that judge."""
    later = [data for data in _stages(spark) if data.stageId() > stage and data.shuffleReadRecords() >= rows / 2]
    found = [Shared(data.stageId(), _rows_by_task(spark, data)) for data in later]
    return sorted(found, key=lambda shared: shared.stage)


def _stages(spark: SparkSession):  # noqa: ANN202 # py4j has no types
    context = spark._jsc.sc()
    context.listenerBus().waitUntilEmpty(60_000)
    gateway = spark.sparkContext._gateway
    assert gateway is not None, "there is no JVM"
    jvm, doubles = gateway.jvm, gateway.new_array(gateway.jvm.double, 0)
    found = context.statusStore().stageList(
        jvm.java.util.ArrayList(), False, False, doubles, jvm.java.util.ArrayList()
    )
    return [found.apply(index) for index in range(found.length())]


def _rows_by_task(spark: SparkSession, data) -> tuple[int, ...]:  # noqa: ANN001 # py4j has no types
    tasks = spark._jsc.sc().statusStore().taskList(data.stageId(), data.attemptId(), 1 << 20)
    listed = [tasks.apply(index) for index in range(tasks.length())]
    metrics = [task.taskMetrics().get() for task in listed if task.status() == "SUCCESS"]
    return tuple(each.shuffleReadMetrics().recordsRead() for each in metrics)
