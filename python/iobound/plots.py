"""Pictures of a run, through matplotlib: ``pip install iobound[plots]``.

Each function draws on the axes it is given, or on a new figure that needs no display, and returns
the axes. Nothing is shown and no setting of matplotlib is changed:

    ax = iobound.plots.roofline(run)
    ax.figure.savefig("roofline.png")
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import plot_style as style
from .ceilings import ceilings
from .job_text import Job
from .measurement import DIRECTIONS, DirectionStats, Interval
from .program import IoboundError
from .record import Run, Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["block_sizes", "latency_percentiles", "roofline", "time_series"]

#: Scenarios by number or name.
Which = Union[None, int, str, Sequence[Union[int, str]]]

_MIB = 1 << 20
#: In flight enough that the time of an operation does not bind: the most that a job can have.
_DEEP = 32768
#: A last interval shorter than this share of the others holds what was in flight at the end, and
#: its rate says nothing.
_STUB = 0.1
#: Two lines closer than this share look like one.
_ALIKE = 0.02
#: The percentiles that are written on the axis.
_NINES = (50.0, 90.0, 99.0, 99.9, 99.99)
#: With more points than this their names would cover the picture.
_NAMES_MAX = 16
#: Up to so many intervals each is marked by a dot.
_POINTS_MAX = 100


def roofline(run: Run, ax: Optional[Axes] = None) -> Axes:
    """Operations per second against block size: each scenario below the lines that bind it.

    The lines are what the run's context promises (asked of the program, at any depth), or without a
    context the most that the run itself reached. A tick above a point is the scenario's own
    ceiling, which knows its depth and syncs as well.
    """
    measured = _measured(run, None)
    ax = style.axes(ax)
    sizes = [float(scenario.job.bs) for scenario, _ in measured]
    low, high = min(sizes) / 1.4, max(sizes) * 1.4
    for roof in _roofs(run, low, high):
        ax.plot(
            [x for x, _ in roof.points],
            [y for _, y in roof.points],
            color=roof.colour,
            linestyle=style.DASHES[1] if roof.reached else style.DASHES[0],
            linewidth=style.LINE_POINTS,
            label=roof.label,
        )
    names: List[Tuple[float, float, str, str]] = []
    for scenario, iops in measured:
        x, colour = float(scenario.job.bs), _mix_colour(scenario.job.read_percent)
        solid = scenario.mark not in ("void", "errors", "cut")
        ax.plot([x], [iops], "o", color=colour, markerfacecolor=colour if solid else "white")
        if scenario.ceiling is not None and scenario.ceiling.iops > 0:
            top = scenario.ceiling.iops
            ax.plot([x, x], [iops, top], color=colour, linewidth=0.7, alpha=0.6)
            ax.plot([x], [top], "_", color=colour, markersize=10)
        percent = scenario.verdict.percent_of_ceiling
        share = "" if percent is None else f" {percent:.0f}%"
        names.append((x, iops, f"{scenario.name}{share}", colour))
    style.block_size_axis(ax, sizes)
    style.rate_axis(ax)
    style.dress(ax, run, "Storage roofline", "Block size", "Operations per second")
    style.legend(ax)
    if len(names) <= _NAMES_MAX:
        style.place_labels(ax, names)
    return ax


def latency_percentiles(run: Run, ax: Optional[Axes] = None, scenarios: Which = None) -> Axes:
    """How long operations took: time against percentile, each scenario and direction a line.

    A line ends where there are no more operations to tell: the 99.99th percentile of 1,000 would be
    the slowest one.
    """
    lines: List[Tuple[str, List[Tuple[float, int]]]] = []
    for scenario, _ in _measured(run, scenarios):
        for direction, stats in scenario.measurement.sides() if scenario.measurement else ():
            ranks = [
                (rank, value)
                for rank, value in stats.latency.percentiles_ns.items()
                if value > 0 and stats.ios * (100.0 - rank) >= 100.0
            ]
            if len(ranks) > 1:
                lines.append((_side_label(scenario, direction), ranks))
    if not lines:
        raise ValueError("too few operations were measured for a distribution of their times")
    ax = style.axes(ax)
    for number, (label, ranks) in enumerate(lines[: style.LINES_MAX]):
        ax.plot(
            [_nines(rank) for rank, _ in ranks],
            [value for _, value in ranks],
            label=label,
            **_line(number),
        )
    style.time_axis(ax)
    ax.set_xticks([_nines(rank) for rank in _NINES], [f"{rank:g}" for rank in _NINES])
    ax.set_xlim(0.0, _nines(_NINES[-1]) + 0.1)
    what = "Latency percentiles" + _shown(len(lines))
    style.dress(ax, run, what, "Percentile of operations", "Time of an operation")
    style.legend(ax)
    return ax


#: What a time series shows: label of its axis, and figure of an interval.
_FIGURES = {
    "iops": "Operations per second",
    "bandwidth": "Bandwidth, MiB/s",
    "p50": "Median time of an operation",
    "p99": "99th percentile of an operation's time",
    "max": "Longest operation",
}


def time_series(
    run: Run, ax: Optional[Axes] = None, scenarios: Which = None, figure: str = "iops"
) -> Axes:
    """A figure of each interval over time, each scenario and direction a line.

    `figure` is `iops`, `bandwidth` (MiB/s), `p50`, `p99` or `max` (times, on a logarithmic axis).
    Each scenario starts at 0, the start of its own measured time.
    """
    if figure not in _FIGURES:
        raise ValueError(f"figure={figure!r} is none; use one of {', '.join(_FIGURES)}")
    lines: List[Tuple[str, List[float], List[float]]] = []
    for scenario, _ in _measured(run, scenarios):
        intervals = _whole(scenario.series)
        middles = [(each.start_ns + each.length_ns / 2) / 1e9 for each in intervals]
        # A sync moves no bytes.
        for direction in DIRECTIONS[:2] if figure == "bandwidth" else DIRECTIONS:
            sides = [dict(interval.sides()).get(direction) for interval in intervals]
            if any(sides):
                values = [_figure(stats, figure) for stats in sides]
                lines.append((_side_label(scenario, direction), middles, values))
    if not lines:
        raise ValueError("the run has no series; give a shorter interval, as interval='100ms'")
    ax = style.axes(ax)
    for number, (label, times, values) in enumerate(lines[: style.LINES_MAX]):
        # A point between two gaps would not be seen as a line.
        marker = "." if len(times) <= _POINTS_MAX else ""
        ax.plot(times, values, label=label, marker=marker, **_line(number))
    ax.set_xlim(left=0.0)
    if figure in ("iops", "bandwidth"):
        style.rate_axis_from_zero(ax)
    else:
        style.time_axis(ax)
    what = f"{_FIGURES[figure].split(',')[0]} over time" + _shown(len(lines))
    style.dress(ax, run, what, "Time since the scenario began, s", _FIGURES[figure])
    style.legend(ax)
    return ax


def block_sizes(run: Run, ax: Optional[Axes] = None, scenarios: Which = None) -> Axes:
    """Bandwidth against block size: a line for each pattern, number of jobs and depth.

    Where operations bind, a line rises with the block size; where bytes bind, it is flat. Raises
    ValueError where no pattern was measured at two block sizes: the suites quick, sweep and dd do.
    """
    groups: Dict[str, List[Tuple[float, float]]] = {}
    for scenario, _ in _measured(run, scenarios):
        if scenario.measurement is not None:
            point = (float(scenario.job.bs), scenario.measurement.bandwidth_bytes_per_s / _MIB)
            groups.setdefault(_pattern(scenario), []).append(point)
    curves = {
        pattern: sorted(points)
        for pattern, points in groups.items()
        if len({size for size, _ in points}) > 1
    }
    if not curves:
        raise ValueError("no pattern was measured at two block sizes; run the suite 'sweep'")
    ax = style.axes(ax)
    for number, (pattern, points) in enumerate(list(curves.items())[: style.LINES_MAX]):
        ax.plot(
            [size for size, _ in points],
            [rate for _, rate in points],
            marker=style.MARKERS[number % len(style.MARKERS)],
            markersize=5,
            label=pattern,
            **_line(number),
        )
    style.block_size_axis(ax, [size for points in curves.values() for size, _ in points])
    style.rate_axis(ax)
    what = "Bandwidth by block size" + _shown(len(curves))
    style.dress(ax, run, what, "Block size", "Bandwidth, MiB/s")
    style.legend(ax)
    return ax


def _measured(run: Run, which: Which) -> List[Tuple[Scenario, float]]:
    """The scenarios that moved anything, with their operations per second."""
    if which is None:
        chosen: Sequence[Scenario] = run.scenarios
    elif isinstance(which, (int, str)):
        chosen = [run.scenario(which)]
    else:
        chosen = [run.scenario(each) for each in which]
    measured = [
        (each, each.measurement.iops)
        for each in chosen
        if each.measurement is not None and each.measurement.iops > 0
    ]
    if not measured:
        raise ValueError("nothing was measured that can be drawn")
    return measured


def _side_label(scenario: Scenario, direction: str) -> str:
    """A scenario's name, with its direction where that is not all that it does."""
    sides = list(scenario.measurement.sides()) if scenario.measurement else []
    return scenario.name if len(sides) < 2 else f"{scenario.name}: {direction}"


def _shown(lines: int) -> str:
    return "" if lines <= style.LINES_MAX else f" ({style.LINES_MAX} of {lines} lines)"


def _line(number: int) -> Dict[str, Any]:
    return {
        "color": style.COLOURS[number % len(style.COLOURS)],
        "linestyle": style.DASHES[number // len(style.COLOURS) % len(style.DASHES)],
        "linewidth": style.LINE_POINTS,
    }


def _nines(rank: float) -> float:
    """A place on the axis: 90 is at 1, 99 at 2, 99.9 at 3, so that the tail has room."""
    from math import log10

    return -log10(1.0 - rank / 100.0)


def _whole(series: Sequence[Interval]) -> Sequence[Interval]:
    """The intervals without a last one that is a stub."""
    longest = max((interval.length_ns for interval in series), default=0)
    return series[:-1] if series and series[-1].length_ns < _STUB * longest else series


def _figure(stats: Optional[DirectionStats], figure: str) -> float:
    """Where nothing completed the rates are 0, and there is no time to tell."""
    if stats is None or stats.ios == 0:
        return 0.0 if figure in ("iops", "bandwidth") else float("nan")
    if figure == "iops":
        return stats.iops
    if figure == "bandwidth":
        return stats.bandwidth_bytes_per_s / _MIB
    if figure == "max":
        return float(stats.latency.max_ns)
    return float(stats.latency.p50_ns if figure == "p50" else stats.latency.p99_ns)


def _pattern(scenario: Scenario) -> str:
    """What scenarios that differ in their block size alone have in common, in words."""
    job = scenario.job
    words = [job.rw]
    if job.rw in ("rw", "randrw"):
        words.append(f"{job.rwmixread}/{100 - job.rwmixread}")
    if not job.direct:
        words.append("buffered")
    if job.sync != "none":
        words.append(f"sync={job.sync}")
    for option, every in (("fdatasync", job.fdatasync), ("fsync", job.fsync)):
        if every:
            words.append(f"{option}={every}")
    for option in ("compress_ratio", "dedup_ratio"):
        if job.raw.get(option, 1.0) != 1.0:
            words.append(f"{option}={job.raw[option]}")
    words.append(f"qd{job.iodepth}" + (f" x{job.numjobs}" if job.numjobs > 1 else ""))
    # A file that grows as it is written is another thing than one that is overwritten.
    words += ["fresh"] if scenario.raw.get("fresh") is True else []
    return " ".join(words + ([scenario.volume] if scenario.volume == "wal" else []))


def _mix_colour(read_percent: int) -> str:
    return {100: style.READ, 0: style.WRITE}.get(read_percent, style.MIXED)


@dataclass(frozen=True)
class _Roof:
    """A line of the roofline."""

    #: What it is of: `reads`, `data: 70/30`; of several where their lines are one.
    labels: List[str]
    colour: str
    #: Block size in bytes, and operations per second.
    points: List[Tuple[float, float]]
    #: Whether it is the most that the run reached, and no promise.
    reached: bool

    @property
    def label(self) -> str:
        how = "most reached" if self.reached else "promised"
        return f"{', '.join(self.labels)}: {how}"


def _roofs(run: Run, low: float, high: float) -> List[_Roof]:
    sizes = [low, *(2.0**power for power in range(64) if low < 2.0**power < high), high]
    roofs: List[_Roof] = []
    for roof in _promised(run, [max(int(size), 1) for size in sizes]):
        same = next((index for index, known in enumerate(roofs) if _alike(known, roof)), None)
        if same is None:
            roofs.append(roof)
        else:
            # Lines on top of each other are one line, and its colour is nobody's.
            labels = roofs[same].labels + roof.labels
            colour = roof.colour if roof.colour == roofs[same].colour else style.NEUTRAL
            roofs[same] = _Roof(labels, colour, roof.points, reached=False)
    reached = (_reached(run, percent, sizes) for percent in (100, 0))
    return roofs or [roof for roof in reached if roof is not None]


def _promised(run: Run, sizes: Sequence[int]) -> Iterator[_Roof]:
    """What the context promises for each volume and share of reads that the run has."""
    if run.context is None:
        return
    kinds = dict.fromkeys((each.volume, each.job.read_percent) for each in run.scenarios)
    for volume, percent in kinds:
        if volume not in ("data", "wal"):
            continue
        asked: List[Job] = [
            {"rw": "randrw", "rwmixread": percent, "bs": size, "iodepth": _DEEP, "numjobs": 64}
            for size in sizes
        ]
        try:
            rows = ceilings(asked, context=run.context, role=volume)
        except IoboundError as error:
            warnings.warn(f"the roofline has no lines: {error}", stacklevel=3)
            return
        points = [
            (float(size), row.ceiling.iops)
            for size, row in zip(sizes, rows)
            if row.ceiling is not None and row.ceiling.bound != "latency" and row.ceiling.iops > 0
        ]
        # Else nothing is promised, or only a time.
        if len(points) == len(sizes):
            label = f"{volume} {_mix_words(percent)}"
            yield _Roof([label], _mix_colour(percent), _with_knees(points), reached=False)


def _reached(run: Run, percent: int, sizes: Sequence[float]) -> Optional[_Roof]:
    """The best rate and the best bandwidth among the scenarios with that share of reads."""
    measured = [
        (each.job.bs, each.measurement)
        for each in run.scenarios
        if each.measurement is not None and each.job.read_percent == percent
    ]
    # One block size shows where one bound is, not where it hands over to the other.
    if len({size for size, _ in measured}) < 2:
        return None
    iops = max(measurement.iops for _, measurement in measured)
    bandwidth = max(measurement.bandwidth_bytes_per_s for _, measurement in measured)
    if iops <= 0 or bandwidth <= 0:
        return None
    points = [(size, min(iops, bandwidth / size)) for size in sizes]
    return _Roof([_mix_words(percent)], _mix_colour(percent), _with_knees(points), reached=True)


def _mix_words(percent: int) -> str:
    return {100: "reads", 0: "writes"}.get(percent, f"{percent}/{100 - percent}")


def _alike(one: _Roof, other: _Roof) -> bool:
    pairs = list(zip(one.points, other.points))
    same_length = len(one.points) == len(other.points)
    return same_length and all(abs(a[1] / b[1] - 1.0) < _ALIKE for a, b in pairs)


def _with_knees(points: Sequence[Tuple[float, float]]) -> List[Tuple[float, float]]:
    """The points with the knee between two of them, where operations hand over to bytes: the larger
    block has at most the left one's operations and at most the right one's bytes."""
    line: List[Tuple[float, float]] = []
    for index, (size, iops) in enumerate(points):
        line.append((size, iops))
        if index + 1 < len(points):
            next_size, next_iops = points[index + 1]
            knee = next_size * next_iops / iops
            if size * 1.01 < knee < next_size * 0.99:
                line.append((knee, iops))
    return line
