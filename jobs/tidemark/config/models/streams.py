"""Models of one stream of a pipeline: what it reads, what it does with it, and its windows."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, StrictBool, ValidationInfo, field_validator

from tidemark.config.models.fields import (
    Duration,
    Expression,
    Expressions,
    Names,
    PositiveDuration,
    Selected,
    Settings,
    SignedDuration,
)
from tidemark.config.models.group_by import Groups
from tidemark.config.models.lifetimes import Lifetime, UntilSpec
from tidemark.config.models.rows_before import PrecedingSpec
from tidemark.config.models.tumbling_windows import Tumbling, less_than
from tidemark.core.windows import FixedWindows, NumberedWindows, SessionWindows, SnapshotWindows, Windows


class HoppingSpec(Settings):
    """`hopping`: a window each hop; with hop < size they overlap, with hop > size they leave gaps."""

    size: PositiveDuration = Field(description="Length of a window")
    hop: PositiveDuration = Field(description="Time from the start of one window to the next")
    offset: Duration = Field(0, description="Start of a window after a multiple of hop since 1970")

    @field_validator("offset")
    @classmethod
    def _within_a_hop(cls, value: int, info: ValidationInfo) -> int:
        return less_than("hop", value, info.data.get("hop"))


class SessionSpec(Settings):
    """`session`: rows one after the other, until none comes for a while or it has lasted long enough."""

    gap: PositiveDuration = Field(description="A row that comes so long after the last one begins another session")
    max_duration: PositiveDuration | None = Field(
        None, description="A session lasts no longer; rows after that begin another; absent: it may last for ever"
    )


class SnapshotSpec(Settings):
    """`snapshot`: windows between successive starts and ends of rows. It has no settings: {}."""


class StreamSpec(Settings):
    """One stream: rows of a source or of other streams, changed by at most one operator, `where` and `select`.

    Durations are microseconds. `select` holds expressions by the columns they give; without it all columns stay.
    """

    name: str = Field("", exclude=True, repr=True)
    from_: str | None = Field(None, alias="from", description="The source or stream that is read")
    union: Names = Field((), description="Two or more sources or streams, put together by column name")
    join: Names = Field((), description="Two sources or streams, whose rows are paired while both are alive")
    on: Expressions = Field((), description="Columns that are equal in the rows of a pair")
    how: Literal["inner", "left", "anti"] = Field(
        "inner", description="Of a join: pairs; pairs and the times of left rows without a pair; or these times alone"
    )
    where: Expression | None = Field(None, description="Spark SQL predicate; other rows are left out")
    select: Selected = Field(
        default_factory=dict, description="New columns, or *, all; in a window, aggregates; in a join, required"
    )
    except_: Names = Field((), alias="except", description='Columns that select: "*" leaves out')
    unnest: str | None = Field(None, description="Array column: one row for each of its elements, numbered by _index")
    preceding: PrecedingSpec | None = Field(
        None, description="Columns computed from the rows before each row: {by, within, select}, and where"
    )
    shift: SignedDuration = Field(0, description="Moves both ends of every lifetime; may be negative")
    lifetime: Lifetime | None = Field(
        None,
        description="Every row lives this long from its start, or {until: EndTime, at_most: 1d}, or until the next"
        " row: {until: next, by: [Toll], at_most: 30d}",
    )
    tumbling: Tumbling | None = Field(
        None, description="Windows one after the other: 1m, {size, offset}, or {calendar, zone, offset}"
    )
    hopping: HoppingSpec | None = Field(None, description="Windows of a size, one each hop")
    session: SessionSpec | None = Field(None, description="Windows of rows that follow one another closely")
    sliding: PositiveDuration | None = Field(
        None,
        description="Windows that change whenever a row comes or is so old: the snapshots of rows that live so long",
    )
    snapshot: SnapshotSpec | None = Field(None, description="Windows that change whenever a row begins or ends: {}")
    groups: Groups = Field(
        (), alias="group_by", description="Columns, or {name: expression}: a window has one row for each value"
    )
    allowed_lateness: Duration = Field(0, description="Windows close this much later")
    idle_timeout: PositiveDuration | None = Field(
        None, description="Without rows for so long, time alone closes windows; absent: it never does"
    )
    partition_by: Literal["partition", "substream"] | None = Field(
        None, description="Each partition or substream has windows of its own; absent: all share them"
    )
    publish: StrictBool = Field(
        False, description="Whether rows are written to a table; those of windows and joins always are"
    )

    @property
    def windows(self) -> Windows | None:
        """The step's windows; None if it has none."""
        progress = (self.allowed_lateness, self.idle_timeout, self.partition_by)
        if self.tumbling is not None:
            return self.tumbling.windows(*progress)
        if self.hopping is not None:
            return FixedWindows(self.hopping.size, self.hopping.hop, self.hopping.offset, *progress)
        if self.session is not None:
            return SessionWindows(self.session.gap, self.session.max_duration, *progress)
        if self.snapshot is not None or self.sliding is not None:
            return SnapshotWindows(self.sliding, *progress)
        return None

    @property
    def group_by(self) -> tuple[str, ...]:
        """Names of the columns that windows are grouped by."""
        return tuple(each.name for each in self.groups)

    @property
    def computed_groups(self) -> dict[str, str]:
        """The expressions among `group_by`, by the column that they give."""
        return {each.name: each.text for each in self.groups if each.text is not None}

    @property
    def fixed(self) -> NumberedWindows | None:
        """The step's windows if their bounds do not depend on rows."""
        return self.windows if isinstance(self.windows, NumberedWindows) else None

    @property
    def windowed(self) -> bool:
        """True if the step has windows of any kind."""
        return self.windows is not None

    @property
    def lasts(self) -> int | None:
        """Lifetime that the step gives to all rows from their start, microseconds; None if it gives none."""
        given = self.lifetime if self.sliding is None else self.sliding
        return given if isinstance(given, int) else None

    @property
    def own_ends(self) -> UntilSpec | None:
        """What gives each row an end of its own; None if the step has a constant lifetime or none."""
        return self.lifetime if isinstance(self.lifetime, UntilSpec) else None

    @property
    def until(self) -> UntilSpec | None:
        """The expression that gives each row its end; None if the step has none."""
        return None if self.own_ends is None or self.own_ends.next_row else self.own_ends

    @property
    def until_next(self) -> UntilSpec | None:
        """Set if each row ends where the next one starts."""
        return self.own_ends if self.own_ends is not None and self.own_ends.next_row else None

    @property
    def parts(self) -> tuple[str, ...]:
        """Columns that identify a part of `partition_by`."""
        return {"partition": ("_partition",), "substream": ("_partition", "_substream")}.get(
            self.partition_by or "", ()
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, repeated if they are given repeatedly."""
        return self.union or self.join if self.from_ is None else (self.from_,)

    @property
    def gapped(self) -> bool:
        """True if the times in which a left row of a join has no pair are rows."""
        return bool(self.join) and self.how != "inner"

    @property
    def published(self) -> bool:
        """True if the stream has a table."""
        return self.publish or self.windowed or bool(self.join)


SEVERAL = "windows"
"""Key of a step with several windows, each a stream in the configuration."""
_FIELDS = tuple(field.alias or name for name, field in StreamSpec.model_fields.items() if name != "name")
STREAM_KEYS = (*_FIELDS, SEVERAL)
