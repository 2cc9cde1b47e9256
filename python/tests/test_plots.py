"""Pictures: what they show is what the record says, and it can be read."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest
from program_needed import DATA, library, program

from iobound import plots
from iobound.ceilings import ceilings
from iobound.record import Run
from iobound.runs import load

DRAWN: List[Any] = [
    (plots.roofline, "quick", {}),
    (plots.roofline, "database", {}),
    (plots.roofline, "sweep", {}),
    (plots.latency_percentiles, "quick", {}),
    (plots.latency_percentiles, "database", {"scenarios": [2, "rand-write"]}),
    (plots.time_series, "quick", {"figure": "bandwidth"}),
    (plots.time_series, "database", {"scenarios": "mixed"}),
    (plots.time_series, "database", {"figure": "p99"}),
    (plots.block_sizes, "quick", {}),
    (plots.block_sizes, "sweep", {}),
]


@pytest.fixture(autouse=True)
def needs_matplotlib() -> None:
    library("matplotlib")


def captured(name: str) -> Run:
    if name == "database":
        # Its roofline is the program's answer.
        program()
    return load(DATA / f"{name}.json")


def texts(ax: Any) -> Iterator[Any]:
    """All words of a plot that are shown."""
    from matplotlib.text import Text

    for text in ax.figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            yield text


@pytest.mark.parametrize(("draw", "name", "options"), DRAWN)
def test_it_can_be_read(
    draw: Callable[..., Any], name: str, options: Dict[str, Any], tmp_path: Path
) -> None:
    run = captured(name)
    ax = draw(run, **options)
    file = tmp_path / "plot.png"
    ax.figure.savefig(file)
    assert file.read_bytes().startswith(b"\x89PNG") and file.stat().st_size > 10_000
    assert ax.get_xlabel() and ax.get_ylabel() and len(ax.get_title(loc="left")) > 10
    title = " ".join(ax.get_title(loc="left").split())
    assert run.verdict.says in title and f"{run.label}, " in title
    nothing_covers_anything(ax)


def nothing_covers_anything(ax: Any) -> None:
    """All words are on the figure, and none on others."""
    canvas = ax.figure.bbox
    # Ticks beyond the limits are not drawn.
    (low_x, high_x), (low_y, high_y) = ax.get_xlim(), ax.get_ylim()
    beyond = [
        label
        for axis, low, high in ((ax.xaxis, low_x, high_x), (ax.yaxis, low_y, high_y))
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
        if not low <= tick.get_loc() <= high
    ]
    from matplotlib.text import Text

    # Not of a whole annotation, which has the line to its point as well.
    boxes = [
        (text.get_text(), Text.get_window_extent(text))
        for text in texts(ax)
        if not any(text is other for other in beyond)
    ]
    assert len(boxes) > 8
    for words, box in boxes:
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= canvas.x1 + 1
        assert inside and box.y1 <= canvas.y1 + 1, (words, box)
    for (one, first), (other, second) in combinations(boxes, 2):
        # Boxes have a margin of their own; a touch is no overlap.
        wide = min(first.x1, second.x1) - max(first.x0, second.x0)
        high = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert wide <= 2 or high <= 2, (one, other)


def test_points_close_together_have_names_apart() -> None:
    def crowd(scenarios: List[Any]) -> None:
        for number, scenario in enumerate(scenarios):
            scenario["job"]["bs"] = 1 << 20
            scenario["measurement"]["read"]["iops"] = 100.0 + number
            scenario["measurement"]["write"]["iops"] = 0.0

    program()
    ax: Any = plots.roofline(changed("database", crowd))
    ax.figure.draw_without_rendering()
    assert len(ax.texts) == 6
    nothing_covers_anything(ax)


def lines_of(ax: Any) -> Dict[str, Any]:
    return {line.get_label(): line for line in ax.get_lines() if line.get_label()[0] != "_"}


def test_block_sizes_are_the_bandwidths_of_the_record() -> None:
    run = captured("sweep")
    lines = lines_of(plots.block_sizes(run))
    assert sorted(lines) == ["randread qd1", "randread qd1 x4", "write qd1", "write qd1 x4"]
    for numjobs, label in ((1, "write qd1"), (4, "write qd1 x4")):
        expected = [
            (each.job.bs, each.measurement.bandwidth_bytes_per_s / 2**20)
            for each in run.scenarios
            if each.measurement and each.job.rw == "write" and each.job.numjobs == numjobs
        ]
        assert list(zip(*lines[label].get_data())) == sorted(expected) and len(expected) == 5
    (curve,) = lines_of(plots.block_sizes(captured("quick"))).values()
    assert curve.get_label() == "randread qd32" and len(curve.get_xdata()) == 9
    with pytest.raises(ValueError, match="at two block sizes; run the suite 'sweep'"):
        plots.block_sizes(run, scenarios=[1, 2])


def test_a_latency_line_ends_where_operations_do() -> None:
    run = captured("database")
    lines = lines_of(plots.latency_percentiles(run))
    assert {"mixed: read", "mixed: write", "seq-read", "sync-latency: sync"} < set(lines)
    for label, line in lines.items():
        name, _, side = label.partition(": ")
        measured = run.scenario(name).measurement
        assert measured is not None
        stats = getattr(measured, side) if side else measured.main[1]
        # At 1 - 10^-x of the operations at least one is left above.
        last = line.get_xdata()[-1]
        assert stats.ios * 10**-last >= 0.999
        shown = [value for value in stats.latency.percentiles_ns.values() if value > 0]
        assert list(line.get_ydata()) == shown[: len(line.get_ydata())]
    assert len(lines["seq-read"].get_xdata()) < len(lines["mixed: read"].get_xdata()) < 17


def test_time_series_are_the_intervals_of_the_record() -> None:
    run = captured("database")
    line = lines_of(plots.time_series(run, scenarios="seq-read"))["seq-read"]
    series = run.scenario("seq-read").series
    rates = [each.read.iops if each.read else 0.0 for each in series]
    assert list(line.get_ydata()) == rates[: len(line.get_ydata())]
    assert len(rates) - len(line.get_ydata()) in (0, 1) and len(rates) > 15
    assert line.get_xdata()[0] == pytest.approx(0.05)
    for figure, scale in (
        ("iops", "linear"),
        ("bandwidth", "linear"),
        ("p50", "log"),
        ("max", "log"),
    ):
        ax = plots.time_series(run, figure=figure)
        assert ax.get_yscale() == scale
        assert (ax.get_ylim()[0] == 0.0) == (scale == "linear")
    moved = lines_of(plots.time_series(run, figure="bandwidth"))
    assert "sync-latency: write" in moved and "sync-latency: sync" not in moved
    with pytest.raises(ValueError, match="use one of iops, bandwidth, p50, p99, max"):
        plots.time_series(run, figure="p98")


def changed(name: str, change: Callable[[List[Any]], None]) -> Run:
    raw = json.loads((DATA / f"{name}.json").read_text())
    change(raw["scenarios"])
    return Run.of(raw, Path("changed.json"))


def test_an_interval_without_an_operation_is_a_rate_of_zero() -> None:
    def stall(scenarios: List[Any]) -> None:
        series = scenarios[2]["measurement"]["series"]
        del series[4]["read"]
        # What was in flight at the end is no rate.
        series.append({**copy.deepcopy(series[5]), "start_ns": 9_000_000_000, "length_ns": 1000})

    run = changed("database", stall)
    assert run.scenarios[2].name == "seq-read"
    rates = lines_of(plots.time_series(run, scenarios=4))["seq-read"].get_ydata()
    assert rates[4] == 0.0 and rates[3] > 0 and len(rates) == len(run.scenarios[2].series) - 1
    times = lines_of(plots.time_series(run, scenarios=4, figure="p99"))["seq-read"].get_ydata()
    assert times[4] != times[4] and times[3] > 0


def test_the_roofline_is_what_the_context_promises() -> None:
    run = captured("database")
    ax: Any = plots.roofline(run)
    lines = lines_of(ax)
    (label,) = (label for label in lines if "data" in label)
    assert label == "data reads, data 70/30, data writes: promised"
    sizes, rates = lines[label].get_data()
    jobs = [{"rw": "randread", "bs": int(size), "iodepth": 1000} for size in sizes]
    asked = [row.iops for row in ceilings(jobs, context=run.context)]
    assert list(rates) == pytest.approx(asked, rel=1e-3)
    # 800 operations a second of up to 256 KiB, 25 MiB/s: the knee is at 32 KiB.
    assert max(rates) == 800
    assert max(size for size, rate in zip(sizes, rates) if rate > 799) == pytest.approx(32768)
    dots = {tuple(line.get_xydata()[0]) for line in ax.get_lines() if len(line.get_xydata()) == 1}
    for scenario in run.scenarios:
        assert scenario.measurement is not None
        assert (scenario.job.bs, scenario.measurement.iops) in dots
        if scenario.ceiling:
            assert (scenario.job.bs, scenario.ceiling.iops) in dots
    percent = run.scenario("mixed").verdict.percent_of_ceiling
    assert f"mixed {percent:.0f}%" in [text.get_text() for text in ax.texts]


def test_without_a_context_the_roof_is_the_most_that_was_reached() -> None:
    run = captured("sweep")
    lines = lines_of(plots.roofline(run))
    assert sorted(lines) == ["reads: most reached", "writes: most reached"]
    measured = [each.measurement for each in run.scenarios if each.job.rw == "write"]
    line = lines["writes: most reached"]
    assert max(line.get_ydata()) == max(each.iops for each in measured if each)
    most = max(each.bandwidth_bytes_per_s for each in measured if each)
    x, y = line.get_xydata()[-1]
    assert x * y == pytest.approx(most)
    # One block size shows one bound, and no roof.
    one = changed("sweep", lambda scenarios: scenarios.__delitem__(slice(1, None)))
    assert lines_of(plots.roofline(one)) == {}


def test_a_roofline_without_the_program_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IOBOUND_PROGRAM", "/no/such/program")
    with pytest.warns(UserWarning, match="the roofline has no lines: IOBOUND_PROGRAM"):
        ax = plots.roofline(load(DATA / "database.json"))
    # What the run itself reached is then all there is.
    assert set(lines_of(ax)) == {"reads: most reached", "writes: most reached"}


def test_many_lines_are_not_drawn_on_top_of_each_other() -> None:
    ax = plots.latency_percentiles(captured("sweep"))
    assert len(lines_of(ax)) == 10 and "(10 of 20 lines)" in ax.get_title(loc="left")
    styles = {(line.get_color(), str(line.get_linestyle())) for line in ax.get_lines()}
    assert len(styles) == 10


def test_a_line_of_one_operation_is_none() -> None:
    def few(scenarios: List[Any]) -> None:
        scenarios[0]["measurement"]["sync"]["ios"] = 1

    run = changed("database", few)
    assert run.scenarios[0].name == "sync-latency"
    assert list(lines_of(plots.latency_percentiles(run, scenarios=1))) == ["sync-latency: write"]


def test_fresh_files_are_a_curve_of_their_own() -> None:
    def fresh(scenarios: List[Any]) -> None:
        for scenario in scenarios[10:14]:
            assert scenario["job"]["rw"] == "write"
            scenario["fresh"] = True
            scenario["job"]["dedup_ratio"] = 2.0

    lines = lines_of(plots.block_sizes(changed("sweep", fresh)))
    assert {"write qd1", "write dedup_ratio=2.0 qd1 fresh"} < set(lines)


def test_runs_with_little_in_them() -> None:
    program()
    one = changed("database", lambda scenarios: scenarios.__delitem__(slice(1, None)))
    for draw in (plots.roofline, plots.latency_percentiles, plots.time_series):
        ax: Any = draw(one)
        ax.figure.draw_without_rendering()
    none = changed("database", lambda scenarios: scenarios.clear())
    lost = changed("database", lambda scenarios: scenarios[0].update(measurement=None))
    for run, which in ((none, None), (lost, 1)):
        for draw in (plots.latency_percentiles, plots.time_series, plots.block_sizes):
            with pytest.raises(ValueError, match="nothing was measured that can be drawn"):
                draw(run, scenarios=which)
    with pytest.raises(ValueError, match="nothing was measured that can be drawn"):
        plots.roofline(none)
    with pytest.raises(KeyError, match="no scenario 99; there are 1"):
        plots.time_series(one, scenarios=99)


def test_it_draws_on_the_axes_it_is_given() -> None:
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    above, below = Figure().subplots(2)
    assert plots.time_series(captured("quick"), above) is above
    assert plots.block_sizes(captured("sweep"), ax=below) is below
    assert lines_of(above) and lines_of(below)
    figure = Figure()
    part = figure.add_subfigure(GridSpec(1, 2, figure)[1]).subplots()
    assert plots.roofline(captured("database"), part) is part and part.texts


ALONE = """
import sys
import matplotlib
before = dict(matplotlib.rcParams)
from iobound import plots
from iobound.runs import load
for draw in (plots.roofline, plots.latency_percentiles, plots.time_series, plots.block_sizes):
    draw(load(sys.argv[1])).figure.savefig(sys.argv[2])
assert dict(matplotlib.rcParams) == before
assert "matplotlib.pyplot" not in sys.modules
"""


def test_no_display_is_needed_and_no_setting_is_changed(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    environment.update(PYTHONPATH=os.pathsep.join(sys.path), MPLBACKEND="TkAgg")
    arguments = [str(DATA / "sweep.json"), str(tmp_path / "plot.png")]
    subprocess.run([sys.executable, "-c", ALONE, *arguments], env=environment, check=True)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    run = captured("sweep")
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"needs matplotlib, .*pip install iobound\[plots\]"):
        plots.time_series(run)
