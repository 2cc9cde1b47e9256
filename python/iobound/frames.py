"""Runs as tables for pandas and polars.

The names are those of `iobound report --format csv`; one unit a column, said in its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, List, Tuple, TypeVar

from .measurement import DirectionStats, Measurement
from .record import Run, Scenario, SeriesPoint

if TYPE_CHECKING:
    import pandas as _pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars as _polars  # type: ignore[import-not-found,unused-ignore]

_MIB = 1 << 20
_Row = TypeVar("_Row")


@dataclass(frozen=True)
class _Column(Generic[_Row]):
    name: str
    #: `text`, `count`, `real` or `flag`.
    kind: str
    #: None for an empty cell.
    value: Callable[[_Row], Any]


def _measured(of: Callable[[Measurement], Any]) -> Callable[[Scenario], Any]:
    return lambda scenario: of(scenario.measurement) if scenario.measurement else None


def _side(name: str, of: Callable[[DirectionStats], Any]) -> Callable[[Scenario], Any]:
    """A figure of one direction; empty where nothing went that way."""

    def value(scenario: Scenario) -> Any:
        if scenario.measurement is None:
            return None
        return next(
            (of(stats) for side, stats in scenario.measurement.sides() if side == name), None
        )

    return value


def _main(of: Callable[[DirectionStats], Any]) -> Callable[[Scenario], Any]:
    """A figure of the direction that most operations have; empty where nothing completed."""

    def value(scenario: Scenario) -> Any:
        if scenario.measurement is None or scenario.measurement.main[1].ios == 0:
            return None
        return of(scenario.measurement.main[1])

    return value


def _latency_columns(
    prefix: str, at: Callable[[Callable[[DirectionStats], Any]], Callable[[Scenario], Any]]
) -> List[_Column[Scenario]]:
    return [
        _Column(f"{prefix}_mean_ns", "real", at(lambda stats: stats.latency.mean_ns)),
        _Column(f"{prefix}_p50_ns", "count", at(lambda stats: stats.latency.p50_ns)),
        _Column(f"{prefix}_p95_ns", "count", at(lambda stats: stats.latency.p95_ns)),
        _Column(f"{prefix}_p99_ns", "count", at(lambda stats: stats.latency.p99_ns)),
        _Column(f"{prefix}_p99_9_ns", "count", at(lambda stats: stats.latency.p99_9_ns)),
        _Column(f"{prefix}_max_ns", "count", at(lambda stats: stats.latency.max_ns)),
    ]


def _direction_columns(name: str) -> List[_Column[Scenario]]:
    def at(of: Callable[[DirectionStats], Any]) -> Callable[[Scenario], Any]:
        return _side(name, of)

    return [
        _Column(f"{name}_iops", "real", at(lambda stats: stats.iops)),
        *_latency_columns(f"{name}_latency", at),
    ]


_SCENARIOS: List[_Column[Scenario]] = [
    _Column("scenario_id", "count", lambda each: each.id),
    _Column("scenario", "text", lambda each: each.name),
    _Column("title", "text", lambda each: each.title),
    _Column("volume", "text", lambda each: each.volume),
    _Column("phase", "count", lambda each: each.phase),
    _Column("sweep", "text", lambda each: each.sweep),
    _Column("rw", "text", lambda each: each.job.rw),
    _Column("read_percent", "count", lambda each: each.job.read_percent),
    _Column("block_size_bytes", "count", lambda each: each.job.bs),
    _Column("iodepth", "count", lambda each: each.job.iodepth),
    _Column("numjobs", "count", lambda each: each.job.numjobs),
    _Column("direct", "flag", lambda each: each.job.direct),
    _Column("engine", "text", _measured(lambda measured: measured.engine)),
    _Column("runtime_s", "real", _measured(lambda measured: measured.runtime_ns / 1e9)),
    _Column("steady", "flag", _measured(lambda measured: measured.steady)),
    _Column("errors", "count", _measured(lambda measured: measured.errors)),
    _Column("iops", "real", _measured(lambda measured: measured.iops)),
    _Column("bandwidth_bytes_per_s", "real", _measured(lambda m: m.bandwidth_bytes_per_s)),
    _Column("bandwidth_mib_per_s", "real", _measured(lambda m: m.bandwidth_bytes_per_s / _MIB)),
    # Of the direction that most operations have; the others follow at the end.
    _Column("latency_of", "text", _measured(lambda m: m.main[0] if m.main[1].ios else None)),
    *_latency_columns("latency", _main),
    _Column("ceiling_iops", "real", lambda each: each.ceiling and each.ceiling.iops),
    _Column(
        "ceiling_bandwidth_bytes_per_s",
        "real",
        lambda each: each.ceiling and each.ceiling.bandwidth_bytes_per_s,
    ),
    _Column("ceiling_bound", "text", lambda each: each.ceiling and each.ceiling.bound),
    _Column("percent_of_ceiling", "real", lambda each: each.verdict.percent_of_ceiling),
    _Column("status", "text", lambda each: each.verdict.status),
    _Column("mark", "text", lambda each: each.mark),
    _Column("verdict", "text", lambda each: each.verdict.says),
    _Column("findings", "text", lambda each: ",".join(each.verdict.findings)),
    _Column("error", "text", lambda each: each.error),
    *_direction_columns("read"),
    *_direction_columns("write"),
    *_direction_columns("sync"),
]

_SERIES: List[_Column[SeriesPoint]] = [
    _Column("scenario_id", "count", lambda point: point.scenario.id),
    _Column("scenario", "text", lambda point: point.scenario.name),
    _Column("volume", "text", lambda point: point.scenario.volume),
    _Column("direction", "text", lambda point: point.direction),
    _Column("start_s", "real", lambda point: point.start_s),
    _Column("length_s", "real", lambda point: point.length_s),
    _Column("operations", "count", lambda point: point.stats.ios),
    _Column("bytes", "count", lambda point: point.stats.bytes),
    _Column("iops", "real", lambda point: point.stats.iops),
    _Column("bandwidth_bytes_per_s", "real", lambda point: point.stats.bandwidth_bytes_per_s),
    _Column("bandwidth_mib_per_s", "real", lambda p: p.stats.bandwidth_bytes_per_s / _MIB),
    _Column("latency_mean_ns", "real", lambda point: point.stats.latency.mean_ns),
    _Column("latency_p50_ns", "count", lambda point: point.stats.latency.p50_ns),
    _Column("latency_p95_ns", "count", lambda point: point.stats.latency.p95_ns),
    _Column("latency_p99_ns", "count", lambda point: point.stats.latency.p99_ns),
    _Column("latency_p99_9_ns", "count", lambda point: point.stats.latency.p99_9_ns),
    _Column("latency_max_ns", "count", lambda point: point.stats.latency.max_ns),
]


def columns(run: Run, frame: str) -> List[Tuple[str, str, List[Any]]]:
    """Name, kind and cells of each column; None is an empty cell."""
    if frame == "scenarios":
        return [(c.name, c.kind, [c.value(each) for each in run.scenarios]) for c in _SCENARIOS]
    if frame == "series":
        points = run.series
        return [(c.name, c.kind, [c.value(point) for point in points]) for c in _SERIES]
    raise ValueError(f"frame={frame!r} is none; use 'scenarios' or 'series'")


def to_pandas(run: Run, frame: str) -> _pandas.DataFrame:
    """See `Run.to_pandas`."""
    library = _library("pandas")
    # Types that know an empty cell: a column is of one type whatever is missing in it.
    types = {"text": "string", "count": "Int64", "real": "Float64", "flag": "boolean"}
    cells: Dict[str, Any] = {
        name: library.Series(values, dtype=types[kind])
        for name, kind, values in columns(run, frame)
    }
    table: _pandas.DataFrame = library.DataFrame(cells)
    return table


def to_polars(run: Run, frame: str) -> _polars.DataFrame:
    """See `Run.to_polars`."""
    library = _library("polars")
    types = {
        "text": library.Utf8,
        "count": library.Int64,
        "real": library.Float64,
        "flag": library.Boolean,
    }
    cells = [
        library.Series(name, values, dtype=types[kind])
        for name, kind, values in columns(run, frame)
    ]
    table: _polars.DataFrame = library.DataFrame(cells)
    return table


def _library(name: str) -> Any:
    """An optional library; where it is missing the error says how to get it."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this needs {name}, which cannot be imported ({error}): pip install iobound[{name}]",
            name=name,
        ) from error
