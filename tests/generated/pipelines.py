"""Random pipelines over given sources: their configuration, and each stream as a query for DuckDB.

A query reads its inputs by name and gives `_o` (position in the order of the sort key), `_s` and `_e` (start and end,
microseconds; an open end is null), `_p`, `_k`, `_f` (partition, substream, offset), `_w` (the row's own watermark;
null for rows of windows and joins) and the payload.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from random import Random
from typing import Any

from aggregates import AGGREGATES, ANYTHING, CONDITIONS, ENDS, VALUES, Expression, fitting

from oracle import MAX_TIME, MIN_TIME

SECOND = 1_000_000
SYSTEM = ("_o", "_s", "_e", "_p", "_k", "_f", "_w")
HOUR = 3600 * SECOND
OPERATORS = (
    "select", "shift", "lifetime", "until", "until_next", "preceding", "union", "join", "unnest",
    "tumbling", "hopping", "gaps", "calendar", "session", "snapshot", "sliding",
)  # fmt: skip
_GROUPED = ("STRING", "BOOLEAN", "INT")


@dataclass(frozen=True)
class Stream:
    """A source or a stream that a pipeline may read. `kept`: rows may be behind their own watermark; `open`: a
    lifetime may have no end; `keyed`: the only source below, if it has substreams; `single`: one source is below;
    `by`: how windows below are divided; `hidden`: columns that no generated expression reads;
    `moved`: edges below may turn out to be no rows; `later`: a later row gives ends; `below`: operators on the way
    from its sources."""

    columns: Mapping[str, str]
    kept: bool = False
    open: bool = False
    single: bool = True
    keyed: bool = False
    by: str | None = None
    hidden: tuple[str, ...] = ()
    moved: bool = False
    later: bool = False
    below: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Table:
    """A table that a stream writes, and DuckDB's query for its rows."""

    name: str
    query: str


@dataclass
class Generated:
    """A pipeline: the configuration of its streams, the views that DuckDB needs, inputs first, and its tables."""

    streams: dict[str, dict[str, Any]] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    used: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Pairs that occur: of an operator and a kind of aggregates over its rows, and of kinds in one `select`."""


@dataclass
class Author:
    """Writes one pipeline."""

    dice: Random
    known: dict[str, Stream]
    done: Generated = field(default_factory=Generated)

    def write(self, count: int) -> Generated:
        for number in range(count):
            self._stream(f"s{number}")
        return self.done

    def _stream(self, name: str) -> None:
        operator = self.dice.choice(OPERATORS)
        below = self.dice.choice(sorted(self.known))
        if operator == "union":
            self._union(name)
        elif operator == "join":
            self._join(name, self.dice.choice(("inner", "left", "anti")))
        elif operator == "unnest":
            self._unnest(name)
        elif operator in ("select", "shift", "lifetime"):
            self._moved(name, operator, below)
        elif operator == "until":
            self._until(name, below)
        elif operator == "until_next":
            self._until_next(name, below)
        elif operator == "preceding":
            self._preceding(name, below)
        else:
            self._windows(name, operator, below)

    # -- rows one by one

    def _moved(self, name: str, operator: str, below: str) -> None:
        stream = self.known[below]
        keys: dict[str, Any] = {"from": below}
        system, columns, where, open_ = list(SYSTEM), dict.fromkeys(stream.columns, ""), "true", stream.open
        types = dict(stream.columns)
        if operator == "shift":
            by = self.dice.choice((-7, -1, 2, 5)) * SECOND
            keys["shift"] = f"{by}us"
            system[1:3], system[6] = [f"_s + {by} AS _s", f"_e + {by} AS _e"], f"_w + {by} AS _w"
        elif operator == "lifetime":
            for_ = self.dice.choice((1, SECOND, 3 * SECOND, 10 * SECOND))
            keys["lifetime"], system[2], open_ = f"{for_}us", f"_s + {for_} AS _e", False
        else:
            condition, column = self.dice.choice(fitting(CONDITIONS, types) or [(ANYTHING, "")])
            where = condition.duck.format(c=column)
            keys["where"] = condition.spark.format(c=column)
            chosen = self._chosen(name, VALUES, types)
            keys["select"] = {column: column for column in self._some(types)} | {
                as_: each.spark.format(c=of) for as_, (each, of) in chosen.items()
            }
            columns = {column: column for column in keys["select"]}
            columns |= {as_: each.duck.format(c=of) for as_, (each, of) in chosen.items()}
            if self.dice.random() < 0.25:
                left_out = sorted(set(types) - set(self._some(types)))
                keys |= {"select": "*", "except": left_out} if left_out else {"select": "*"}
                columns = {column: column for column in types if column not in left_out}
            types = {as_: chosen[as_][0].gives if as_ in chosen else types[as_] for as_ in columns}
        payload = [f"{text or as_} AS {as_}" for as_, text in columns.items()]
        self._add(
            name, keys, f"SELECT {', '.join([*system, *payload])} FROM {below} WHERE {where}",
            replace(
                stream, columns=types, open=open_, hidden=stream.hidden if keys.get("select", "*") == "*" else (),
                later=stream.later and operator != "lifetime",
                below=stream.below | {operator},
            ),
        )  # fmt: skip
        self._publish(name)

    def _until(self, name: str, below: str) -> None:
        stream = self.known[below]
        possible = fitting(ENDS, stream.columns)
        if not possible:
            return
        each, of = self.dice.choice(possible)
        most = self.dice.choice((None, 1, 2 * SECOND, 10 * SECOND))
        until: dict[str, Any] = {"until": each.spark.format(c=of)} | ({"at_most": f"{most}us"} if most else {})
        end = each.duck.format(c=of)
        end = f"CASE WHEN {end} BETWEEN {MIN_TIME} AND {MAX_TIME} THEN {end} END"
        end = f"least(coalesce({end}, {_NEVER}), _s + {most})" if most else end
        system = [f"{end} AS _e" if each == "_e" else each for each in SYSTEM]
        rows = f"SELECT {', '.join([*system, *stream.columns])} FROM {below}"
        query = f"SELECT * FROM ({rows}) WHERE _e IS NULL OR _e > _s"
        passed = stream.below | {"until"}
        ended = replace(stream, open=most is None, later=False, below=passed)
        self._add(name, {"from": below, "lifetime": until}, query, ended)
        self._publish(name)

    def _until_next(self, name: str, below: str) -> None:
        stream = self.known[below]
        if stream.kept or stream.moved:
            return
        by, most = self._equal(stream), self.dice.choice((None, 1, 2 * SECOND, 10 * SECOND))
        until: dict[str, Any] = {"until": "next", "by": by} | ({"at_most": f"{most}us"} if most else {})
        whose = f"PARTITION BY {', '.join(by)} " if by else ""
        rows = f"SELECT *, lead(_s) OVER ({whose}ORDER BY _o) AS _next FROM {below}"
        end = f"least(_next, _s + {most})" if most else "_next"
        system = [f"{end} AS _e" if each == "_e" else each for each in SYSTEM]
        query = f"SELECT {', '.join([*system, *stream.columns])} FROM ({rows}) WHERE _next IS DISTINCT FROM _s"
        passed = stream.below | {"until_next"}
        self._add(
            name, {"from": below, "lifetime": until}, query,
            replace(stream, open=most is None, single=False, later=True, below=passed),
        )  # fmt: skip
        self._publish(name)

    def _preceding(self, name: str, below: str) -> None:
        stream = self.known[below]
        if stream.kept:
            return
        by, within = self._equal(stream), self.dice.choice((1, 2 * SECOND, 5 * SECOND, 60 * SECOND))
        options = tuple(each for each in AGGREGATES if "DISTINCT" not in each.spark)
        chosen = self._chosen(name, options, stream.columns, 3)
        keys: dict[str, Any] = {"within": f"{within}us"} | ({"by": by} if by else {})
        keys["select"] = {as_: each.spark.format(c=of) for as_, (each, of) in chosen.items()}
        found = [f"r._o < l._o AND r._s > l._s - {within}", *[f"l.{c} IS NOT DISTINCT FROM r.{c}" for c in by]]
        possible = fitting(CONDITIONS, stream.columns)
        if possible and self.dice.random() < 0.4:
            condition, column = self.dice.choice(possible)
            keys["where"] = condition.spark.format(c=column)
            found.append(f"({condition.duck.format(c=f'r.{column}')})")
        before = f"SELECT l._o AS _of, r.* FROM {below} l JOIN {below} r ON {' AND '.join(found)}"
        values = ", ".join(f"{each.duck.format(c=of)} AS {as_}" for as_, (each, of) in chosen.items())
        known, none = (
            f"SELECT _of, {values} FROM ({before}) GROUP BY _of",
            f"SELECT {values} FROM {below} WHERE false",
        )
        shown = [f"CASE WHEN k._of IS NULL THEN z.{as_} ELSE k.{as_} END AS {as_}" for as_ in chosen]
        own = [f"b.{each}" for each in (*SYSTEM, *stream.columns)]
        query = (
            f"SELECT {', '.join([*own, *shown])} FROM {below} b"
            f" LEFT JOIN ({known}) k ON k._of = b._o CROSS JOIN ({none}) z"
        )
        types = dict(stream.columns) | {as_: each.gives for as_, (each, _) in chosen.items()}
        passed = stream.below | {"preceding"}
        self._count([each.kind for each, _ in chosen.values()], passed)
        self._add(
            name,
            {"from": below, "preceding": keys},
            query,
            replace(stream, columns=types, single=False, below=passed),
        )
        self._publish(name)

    def _equal(self, stream: Stream) -> list[str]:
        """At most one column whose values set rows apart."""
        possible = sorted(column for column, type_ in stream.columns.items() if type_ in _GROUPED)
        return self.dice.sample(possible, k=1) if possible and self.dice.random() < 0.7 else []

    def _publish(self, name: str) -> None:
        if self.dice.random() < 0.4:
            self.done.streams[name]["publish"] = True
            shown = ", ".join(["_s", "_e", "_p", "_f", *self.known[name].columns])
            self.done.tables.append(Table(f"streams/{name}", f"SELECT {shown} FROM {name}"))

    def _union(self, name: str) -> None:
        alike: dict[Any, list[str]] = {}
        for other, stream in sorted(self.known.items()):
            alike.setdefault((tuple(sorted(stream.columns.items())), stream.hidden), []).append(other)
        inputs = self.dice.choices(self.dice.choice(list(alike.values())), k=self.dice.choice((2, 2, 3)))
        streams = [self.known[each] for each in inputs]
        columns = dict(streams[0].columns)
        parts = [f"SELECT {index} AS _i, * FROM {each}" for index, each in enumerate(inputs)]
        ordered = "row_number() OVER (ORDER BY _s, _i, _o) AS _o"
        query = f"SELECT {', '.join([ordered, *SYSTEM[1:], *columns])} FROM ({' UNION ALL BY NAME '.join(parts)})"
        kept, open_ = any(each.kept for each in streams), any(each.open for each in streams)
        passed = frozenset({"union"}).union(*[each.below for each in streams])
        hidden, moved = streams[0].hidden, any(each.moved for each in streams)
        later = any(each.later for each in streams)
        stream = Stream(columns, kept, open_, False, hidden=hidden, moved=moved, later=later, below=passed)
        self._add(name, {"union": inputs}, query, stream)
        self._publish(name)

    def _join(self, name: str, how: str) -> None:
        sides = [each for each, stream in sorted(self.known.items()) if not stream.kept]
        pairs = [
            (one, other, column)
            for one in sides
            for other in sides
            for column, type_ in self.known[one].columns.items()
            if one != other
            and type_ in _GROUPED
            and self.known[other].columns.get(column) == type_
            and not (how != "inner" and self.known[other].moved)
        ]
        if not pairs:
            return
        left, right, on = self.dice.choice(pairs)
        sides = [left, right]
        read = sides if how != "anti" else sides[:1]
        select = {f"{side[0]}{index}_{column}": (side, column)
                  for index, side in enumerate(read) for column in self._some(self.known[side].columns)}  # fmt: skip
        types = {as_: self.known[side].columns[column] for as_, (side, column) in select.items()}
        selected = {as_: f"{side}.{column}" for as_, (side, column) in select.items()}
        keys = {"join": sides, "on": [on], "select": selected} | ({} if how == "inner" else {"how": how})
        query = _joined(left, right, on, how, selected)
        open_ = all(self.known[side].open for side in (sides if how == "inner" else sides[:1]))
        passed = frozenset({"join"}).union(*[self.known[side].below for side in sides])
        moved = any(self.known[side].moved for side in sides)
        later = how != "inner" or any(self.known[side].later for side in sides)
        stream = Stream(types, open=open_, single=False, moved=moved, later=later, below=passed)
        self._add(name, keys, query, stream)
        shown = ", ".join(["_s", "_e", "_p", "_f", *types])
        self.done.tables.append(Table(f"streams/{name}", f"SELECT {shown} FROM {name}"))

    def _unnest(self, name: str) -> None:
        possible = [
            (below, column)
            for below, stream in sorted(self.known.items())
            for column, type_ in stream.columns.items()
            if type_ == "ARRAY<STRING>" and "_index" not in stream.columns
        ]
        if not possible:
            return
        below, column = self.dice.choice(possible)
        stream = self.known[below]
        columns = dict(stream.columns) | {column: "STRING", "_index": "BIGINT"}
        elements = f"unnest({column}) AS {column}, unnest(range(len({column}))) AS _index"
        rows = f"SELECT * EXCLUDE ({column}), {elements} FROM {below}"
        order = "row_number() OVER (ORDER BY _o, _index) AS _o"
        query = f"SELECT {', '.join([order, *SYSTEM[1:], *columns])} FROM ({rows})"
        passed = stream.below | {"unnest"}
        self._add(name, {"from": below, "unnest": column}, query, replace(stream, columns=columns, below=passed))
        self._publish(name)

    # -- windows

    def _windows(self, name: str, operator: str, below: str) -> None:
        stream = self.known[below]
        fixed = operator in ("tumbling", "hopping", "gaps", "calendar")
        if stream.open or (stream.kept and not fixed):
            return
        keys: dict[str, Any] = {"from": below}
        possible = sorted(column for column, type_ in stream.columns.items() if type_ in _GROUPED)
        groups = self.dice.sample(possible, k=1) if possible and self.dice.random() < 0.5 else []
        parts = self._parts(keys, stream)
        if groups:
            keys["group_by"] = list(groups)
        computed = self._computed(name, keys, below) if self.dice.random() < 0.3 else {}
        groups += computed
        below = f"{name}_in" if computed else below
        chosen = self._chosen(name, AGGREGATES, {c: t for c, t in stream.columns.items() if c not in groups}, 5)
        keys["select"] = {as_: each.spark.format(c=of) for as_, (each, of) in chosen.items()}
        passed = stream.below | {operator}
        self._count([each.kind for each, _ in chosen.values()], passed)
        types = {
            **{c: computed.get(c) or stream.columns[c] for c in groups},
            **{as_: each.gives for as_, (each, _) in chosen.items()},
        }
        values = [f"{each.duck.format(c=of)} AS {as_}" for as_, (each, of) in chosen.items()]
        if self.dice.random() < 0.3:
            ends = f"{name}e"
            keys["select"][ends], types[ends] = "count(_end_time)", "BIGINT"
            unseen = stream.later and operator != "sliding"  # which gives rows another end
            values.append(f"count(*) FILTER (_e < _we) AS {ends}" if unseen else f"count(_e) AS {ends}")
        keyed, by = bool(parts) and stream.keyed, keys.get("partition_by")
        counted = Stream(types, single=bool(parts), keyed=keyed, by=by, below=passed)
        bounds = self._fixed if fixed else self._data_driven
        several = ("x", "y") if fixed and self.dice.random() < 0.2 else ()
        for window in several:
            own = keys.setdefault("windows", {})[window] = {}
            within = bounds(f"{name}_{window}", own, operator, below, [*parts, *groups])
            self._counted(f"{name}_{window}", within, counted, parts, groups, values)
        if not several:
            within = bounds(name, keys, operator, below, [*parts, *groups])
            self._counted(name, within, counted, parts, groups, values)
        self.known.pop(f"{name}_in", None)
        self.done.streams[name] = keys

    def _counted(
        self,
        name: str,
        within: str,
        stream: Stream,
        parts: Sequence[str],
        groups: Sequence[str],
        values: Sequence[str],
    ) -> None:
        """Add the stream of one window, whose rows are in `within`."""
        types = stream.columns
        part = {"_p": "NULL::VARCHAR AS _p", "_k": "NULL::VARCHAR AS _k"} | {c: c for c in parts}
        grouped = ", ".join(["_ws", "_we", *parts, *groups])
        shown = ", ".join(["_ws", "_we", *part.values(), *groups, *values])
        made = f"SELECT {shown} FROM ({within}) GROUP BY {grouped}"
        order = ", ".join(["_ws", "_we", *[f"{c} NULLS FIRST" for c in ("_p", "_k", *groups)]])
        query = (
            f"SELECT row_number() OVER (ORDER BY {order}) AS _o, held(_ws) AS _s, held(_we) AS _e, _p, _k,"
            f" NULL::BIGINT AS _f, NULL::BIGINT AS _w, {', '.join(types)} FROM ({made})"
        )
        self.done.views[name], self.known[name] = query, stream
        shown = ", ".join(["_s", "_e", *parts, *types])
        self.done.tables.append(Table(f"streams/{name}", f"SELECT {shown} FROM {name}"))

    def _computed(self, name: str, keys: dict[str, Any], below: str) -> dict[str, str]:
        """The type of an expression that windows are grouped by, by its name; a view of the rows with it is added."""
        options = tuple(each for each in VALUES if each.gives in _GROUPED)
        possible = fitting(options, self.known[below].columns)
        if not possible:
            return {}
        each, of = self.dice.choice(possible)
        group = f"{name}g"
        keys["group_by"] = [*keys.get("group_by", []), {group: each.spark.format(c=of)}]
        self.done.views[f"{name}_in"] = f"SELECT *, {each.duck.format(c=of)} AS {group} FROM {below}"
        self.known[f"{name}_in"] = self.known[below]
        return {group: each.gives}

    def _parts(self, keys: dict[str, Any], stream: Stream) -> list[str]:
        """Columns of the part that windows are divided by."""
        by = self.dice.choice((None, None, "partition", "substream"))
        if not stream.single or by is None or stream.by not in (None, by) or (by == "substream" and not stream.keyed):
            return []
        keys["partition_by"] = by
        return ["_p"] if by == "partition" else ["_p", "_k"]

    def _fixed(self, name: str, keys: dict[str, Any], operator: str, below: str, _: Sequence[str]) -> str:
        late = self.dice.choice((0, 0, 2 * SECOND)) if self.known[below].kept else 0
        placed = (self._calendar if operator == "calendar" else self._sized)(keys, operator, below)
        if late:
            keys["allowed_lateness"] = f"{late}us"
        if self.known[below].kept:
            letters = f"SELECT _p, _f, _ws, _we FROM ({placed}) WHERE _w >= _we + {late}"
            self.done.tables.append(Table(f"dead_letters/{name}", letters))
        return f"SELECT * FROM ({placed}) WHERE _w IS NULL OR _w < _we + {late}"

    def _sized(self, keys: dict[str, Any], operator: str, below: str) -> str:
        """Rows with the bounds of each of their windows of one size."""
        longer = 100_000 if "calendar" in self.known[below].below else 1  # else a month is in millions of windows
        size = self.dice.choice((1, 2, 4, 7)) * SECOND * longer
        hop = {"tumbling": size, "hopping": max(size // 2, SECOND // 2), "gaps": size + 3 * SECOND}[operator]
        offset = self.dice.choice((0, 0, 1, hop - 1, hop // 2))
        shape = {"size": f"{size}us", "offset": f"{offset}us"}
        keys |= {"tumbling": shape} if operator == "tumbling" else {"hopping": shape | {"hop": f"{hop}us"}}
        first, last = f"floor_div(_s - {offset} - {size}, {hop}) + 1", f"floor_div(_e - 1 - {offset}, {hop})"
        rows = f"SELECT *, unnest(generate_series({first}, {last})) AS _n FROM {below}"
        bounds = f"_n * {hop} + {offset}"
        return f"SELECT *, {bounds} AS _ws, {bounds} + {size} AS _we FROM ({rows})"

    def _calendar(self, keys: dict[str, Any], _: str, below: str) -> str:
        """As above, of a calendar: clocks of zones that never change, since other tests are about those that do."""
        unit, (zone, ahead) = self.dice.choice(("day", "week", "month")), self.dice.choice(_ZONES)
        offset = self.dice.choice((0, 0, 4 * HOUR))
        keys["tumbling"] = {"calendar": unit, "zone": zone} | ({"offset": f"{offset}us"} if offset else {})
        back, step = ahead - offset, f"INTERVAL 1 {unit}"
        first, last = (f"date_trunc('{unit}', make_timestamp({time} + {back}))" for time in ("_s", "_e - 1"))
        rows = f"SELECT *, unnest(generate_series({first}, {last}, {step})) AS _n FROM {below}"
        return f"SELECT *, epoch_us(_n) - {back} AS _ws, epoch_us(_n + {step}) - {back} AS _we FROM ({rows})"

    def _data_driven(self, _: str, keys: dict[str, Any], operator: str, below: str, by: Sequence[str]) -> str:
        whose = f"PARTITION BY {', '.join(by)} " if by else ""
        equal = " AND ".join(["true", *[f"l.{c} IS NOT DISTINCT FROM r.{c}" for c in by]])
        if operator == "session":
            gap, most = self.dice.choice((1, 2, 3)) * SECOND, self.dice.choice((4 * SECOND, None))
            keys["session"] = {"gap": f"{gap}us"} | ({"max_duration": f"{most}us"} if most else {})
            return _sessions(below, gap, most, by)
        keys[operator] = {}
        rows = f"SELECT * FROM {below}"
        if operator == "sliding":
            size = self.dice.choice((1, 2, 5)) * SECOND
            keys["sliding"] = f"{size}us"
            rows = f"SELECT * REPLACE (_s + {size} AS _e) FROM {below}"
        own = ", ".join(by) + ", " if by else ""
        bounds = f"SELECT DISTINCT {own}unnest([_s, _e]) AS _ws FROM ({rows})"
        spans = f"SELECT *, lead(_ws) OVER ({whose}ORDER BY _ws) AS _we FROM ({bounds})"
        return (
            f"SELECT l.*, r._ws, r._we FROM ({rows}) l JOIN ({spans}) r ON {equal} AND l._s < r._we AND l._e > r._ws"
        )

    # -- choices

    def _chosen(
        self, name: str, options: tuple[Expression, ...], types: Mapping[str, str], most: int = 2
    ) -> dict[str, tuple[Expression, str]]:
        """Some expressions by the column that they give."""
        possible = fitting(options, types)
        count = min(self.dice.randint(1, most), len(possible))
        return {f"{name}v{number}": each for number, each in enumerate(self.dice.sample(possible, k=count))}

    def _some(self, columns: Mapping[str, str]) -> list[str]:
        count = self.dice.randint(1, min(4, len(columns)))
        chosen = self.dice.sample(sorted(columns), k=count)
        return [each for each in columns if each in chosen]

    def _count(self, kinds: Sequence[str], operators: Iterable[str]) -> None:
        """Count pairs of an operator and an aggregate over its rows, and of aggregates in one `select`."""
        self.done.used.update((operator, kind) for operator in operators for kind in set(kinds))
        self.done.used.update({(min(pair), max(pair)) for pair in combinations(kinds, 2)})

    def _add(self, name: str, keys: dict[str, Any], query: str, stream: Stream) -> None:
        self.done.streams[name], self.done.views[name], self.known[name] = keys, query, stream


def _joined(left: str, right: str, on: str, how: str, selected: Mapping[str, str]) -> str:
    """Pairs, and with `how` the spans of left rows in which no pair is alive: between its bounds, put together where
    they touch."""
    start, end = f"greatest({left}._s, {right}._s)", f"least({left}._e, {right}._e)"
    system = "NULL::VARCHAR AS _p, NULL::VARCHAR AS _k, NULL::BIGINT AS _f, NULL::BIGINT AS _w"
    both = (
        f"{left} JOIN {right} ON {left}.{on} = {right}.{on}"
        f" AND ({right}._e IS NULL OR {left}._s < {right}._e) AND ({left}._e IS NULL OR {right}._s < {left}._e)"
    )
    values = ", ".join(f"{value} AS {as_}" for as_, value in selected.items())
    pairs = f"SELECT {start} AS _s, {end} AS _e, {left}._o AS _l, {right}._o AS _r, {values} FROM {both}"
    lives = f"SELECT {left}._o AS _l, {start} AS _s, coalesce({end}, {_NEVER}) AS _e FROM {both}"
    own = f"SELECT _o, unnest([_s, coalesce(_e, {_NEVER})]) FROM {left}"
    alive = f"SELECT _l, unnest([_s, _e]) AS _t FROM ({lives}) UNION {own}"
    spans = f"SELECT _l, _t AS _s, lead(_t) OVER (PARTITION BY _l ORDER BY _t) AS _e FROM ({alive})"
    free = (
        f"SELECT *, lag(_e) OVER (PARTITION BY _l ORDER BY _s) IS DISTINCT FROM _s AS _new FROM ({spans}) f"
        f" WHERE _e IS NOT NULL AND NOT EXISTS"
        f" (SELECT 1 FROM ({lives}) p WHERE p._l = f._l AND p._s <= f._s AND f._s < p._e)"
    )
    numbered = f"SELECT *, sum(_new::INT) OVER (PARTITION BY _l ORDER BY _s) AS _n FROM ({free})"
    gaps = f"SELECT _l, min(_s) AS _s, nullif(max(_e), {_NEVER}) AS _e FROM ({numbered}) GROUP BY _l, _n"
    none = ", ".join(value if value.startswith(f"{left}.") else "NULL" for value in selected.values())
    alone = f"SELECT g._s, g._e, g._l, NULL, {none} FROM ({gaps}) g JOIN {left} ON {left}._o = g._l"
    rows = {"inner": pairs, "left": f"{pairs} UNION ALL {alone}", "anti": f"{pairs} WHERE false UNION ALL {alone}"}[
        how
    ]
    shown = f"row_number() OVER (ORDER BY _s, _l, _r) AS _o, _s, _e, {system}, {', '.join(selected)}"
    return f"SELECT {shown} FROM ({rows})"


_NEVER = 1 << 62
_ZONES = (("UTC", 0), ("Etc/GMT-14", 14 * HOUR), ("Etc/GMT+9", -9 * HOUR))
"""Time zones, and how far their clocks are ahead of UTC."""


def _sessions(below: str, gap: int, most: int | None, by: Sequence[str]) -> str:
    """Rows with the bounds of their session: row after row by start, as long as the next one starts in time. Without
    `most` nothing else cuts it."""
    most = _NEVER if most is None else most
    own = ", ".join(by) + ", " if by else ""
    grouped = f" GROUP BY {', '.join(by)}" if by else ""
    row = "{'first': _s, 'reach': _e, 'firsts': [_s]}"
    joined = f"b['first'] < a['reach'] - 1 + {gap} AND b['first'] < a['first'] + {most}"
    fold = (
        f"list_reduce(rows, lambda a, b: CASE WHEN {joined}"
        " THEN {'first': a['first'], 'reach': greatest(a['reach'], b['reach']),"
        " 'firsts': list_append(a['firsts'], a['first'])}"
        " ELSE {'first': b['first'], 'reach': b['reach'], 'firsts': list_append(a['firsts'], b['first'])} END)"
    )
    lists = f"SELECT {own}list({row} ORDER BY _o) AS rows, list(_o ORDER BY _o) AS places FROM {below}{grouped}"
    found = f"SELECT unnest(places) AS _o, unnest(({fold})['firsts']) AS _ws FROM ({lists})"
    rows = f"SELECT below.*, found._ws FROM {below} below JOIN ({found}) found USING (_o)"
    whose = ", ".join([*by, "_ws"])
    ends = f"least(max(_e) OVER (PARTITION BY {whose}) - 1 + {gap}, _ws + {most})"
    return f"SELECT *, {ends} AS _we FROM ({rows})"
