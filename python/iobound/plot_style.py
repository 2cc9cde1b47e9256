"""How the plots look: colours, sizes, axes and the words on them, in one place.

Nothing here changes matplotlib's own settings.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Sequence, Tuple

from .record import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

#: Okabe and Ito's colours, which people who see fewer colours can tell apart.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A7A00",
)  # fmt: skip
READ, WRITE, MIXED, SYNC = COLOURS[0], COLOURS[1], COLOURS[2], COLOURS[3]
#: What is of several kinds at once.
NEUTRAL = "#666666"
GRID = "#DDDDDD"
#: Lines that share a colour differ in this.
DASHES: Tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")

FIGURE_INCHES = (8.0, 5.0)
DPI = 120
TITLE_POINTS = 10.5
TEXT_POINTS = 9
SMALL_POINTS = 8
LINE_POINTS = 1.6
#: A line of a title is not longer than the figure is wide.
TITLE_CHARACTERS = 96
#: More lines than this in one plot cannot be told apart.
LINES_MAX = 10
#: Legends longer than this go beside the plot.
LEGEND_INSIDE = 5

#: Mean width of a character over the size of its font, with a little room.
CHARACTER_WIDTH = 0.62
#: How many lines away from its point a word may stand.
FAR_ROWS = 9

_KIB = 1024.0


def axes(given: Optional[Axes]) -> Axes:
    """The axes to draw on: those given, or new ones on a figure that needs no display."""
    if given is not None:
        return given
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            f"this needs matplotlib, which cannot be imported ({error}): "
            "pip install iobound[plots]",
            name="matplotlib",
        ) from error
    figure = Figure(figsize=FIGURE_INCHES, dpi=DPI, layout="constrained")
    made: Axes = figure.subplots()
    return made


def dress(ax: Axes, run: Run, what: str, x: str, y: str) -> None:
    """Title with the run's verdict, labels and grid."""
    verdict = f"{run.label}, {run.started[:10]}: {run.verdict.says}"
    lines = [what, *textwrap.wrap(verdict, TITLE_CHARACTERS)]
    ax.set_title("\n".join(lines), loc="left", fontsize=TITLE_POINTS)
    ax.set_xlabel(x, fontsize=TEXT_POINTS)
    ax.set_ylabel(y, fontsize=TEXT_POINTS)
    ax.tick_params(labelsize=TEXT_POINTS)
    ax.grid(True, which="major", color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def legend(ax: Axes, title: str = "") -> None:
    """What the lines are; beside the plot where there are many."""
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    words: Any = {"fontsize": SMALL_POINTS, "title_fontsize": SMALL_POINTS, "title": title or None}
    if len(handles) > LEGEND_INSIDE:
        ax.legend(
            handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, **words
        )
    else:
        ax.legend(handles, labels, loc="best", framealpha=0.9, **words)


def block_size_axis(ax: Axes, sizes: Sequence[float]) -> None:
    """A logarithmic x axis of block sizes, with a tick at each power of two that is not crowded."""
    ax.set_xscale("log", base=2)
    low, high = min(sizes) / 1.6, max(sizes) * 1.6
    ax.set_xlim(low, high)
    powers = [2.0**power for power in range(0, 41) if low <= 2.0**power <= high]
    step = 1 if len(powers) <= 12 else 2
    ax.set_xticks(powers[::step])
    ax.set_xticks([], minor=True)
    _label(ax.xaxis, bytes_in_words)


def time_axis(ax: Axes) -> None:
    """A logarithmic y axis of times in nanoseconds, labelled with their units."""
    ax.set_yscale("log")
    _decades(ax, duration_in_words)


def rate_axis(ax: Axes) -> None:
    """A logarithmic y axis of rates, labelled 100, 200, 500, 1,000, ..."""
    ax.set_yscale("log")
    _decades(ax, count_in_words)


def rate_axis_from_zero(ax: Axes) -> None:
    """A linear y axis of rates."""
    ax.set_ylim(bottom=0.0)
    _label(ax.yaxis, count_in_words)


def _decades(ax: Axes, words: Any) -> None:
    """Labels at 1, and where there are few decades also at 2 and 5; ticks that say nothing go."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = ax.get_ylim()
    narrow = high / max(low, 1e-9) < 200
    ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0) if narrow else (1.0,)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    _label(ax.yaxis, words)


def _label(axis: Axis, words: Any) -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: words(value)))


def bytes_in_words(value: float) -> str:
    """`4 KiB`, `1 MiB`, `2300 B`."""
    for unit, scale in (("GiB", _KIB**3), ("MiB", _KIB**2), ("KiB", _KIB)):
        if value >= scale and value % scale == 0:
            return f"{value / scale:.0f} {unit}"
    return f"{value:.0f} B"


def duration_in_words(ns: float) -> str:
    """`50 µs`, `2 ms`, `1 s`."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= scale:
            return f"{ns / scale:g} {unit}"
    return f"{ns:g} ns"


def count_in_words(value: float) -> str:
    """`0.5`, `2.5`, `500`, `2,000`."""
    return f"{value:,.0f}" if value >= 100 else f"{value:g}"


def place_labels(ax: Axes, points: Sequence[Tuple[float, float, str, str]]) -> None:
    """Writes the words of each point (x, y, words, colour) beside it, clear of the others.

    Sizes are those of the finished layout, so call it last. Words that stand farther off are joined
    to their point by a thin line.
    """
    # The whole figure, also where the axes are on a part of it.
    owner: Any = ax.figure
    figure = owner.canvas.figure
    figure.draw_without_rendering()
    per_point = figure.dpi / 72.0
    height = SMALL_POINTS * 1.25 * per_point
    frame = ax.get_window_extent()
    dots = [tuple(ax.transData.transform((x, y))) for x, y, _, _ in points]
    # The dots themselves, and a legend that stands within the frame.
    taken: List[Tuple[float, float, float, float]] = [
        (x - 5 * per_point, y - 5 * per_point, x + 5 * per_point, y + 5 * per_point)
        for x, y in dots
    ]
    taken += [(x - 1, y - 1, x + 1, y + 1) for x, y in _along_lines(ax, height / 2)]
    shown = ax.get_legend()
    if shown is not None:
        box = shown.get_window_extent()
        taken.append((box.x0, box.y0, box.x1, box.y1))
    # From above to below, so that no line to a point crosses another.
    ordered = sorted(zip(points, dots), key=lambda each: -each[1][1])
    for (x, y, words, colour), (dot_x, dot_y) in ordered:
        width = len(words) * SMALL_POINTS * CHARACTER_WIDTH * per_point
        place, spot = _free_place(dot_x, dot_y, width, height, per_point, taken, frame)
        taken.append(spot)
        written = ax.annotate(
            words,
            (x, y),
            xytext=place,
            textcoords="offset points",
            fontsize=SMALL_POINTS,
            color=colour,
            ha="left" if place[0] >= 0 else "right",
            va="center",
            arrowprops=_leader(place, colour),
        )
        # Else it would move the layout that its place was found in.
        written.set_in_layout(False)


def _leader(place: Tuple[float, float], colour: str) -> Any:
    """The line from words that stand farther off to their point; it leaves them at the near end."""
    if abs(place[1]) <= 12:
        return None
    near = (0.0 if place[0] >= 0 else 1.0, 0.5)
    return {"arrowstyle": "-", "color": colour, "lw": 0.5, "relpos": near, "shrinkA": 1}


def _along_lines(ax: Axes, step: float) -> Iterator[Tuple[float, float]]:
    """Places that the lines of a plot go through, in pixels, not farther than `step` apart."""
    for line in ax.get_lines():
        pixels = ax.transData.transform(line.get_xydata())
        for (x, y), (next_x, next_y) in zip(pixels[:-1], pixels[1:]):
            parts = int(max(abs(next_x - x), abs(next_y - y)) / step) + 1
            for part in range(parts + 1):
                share = part / parts
                yield x + (next_x - x) * share, y + (next_y - y) * share


def _free_place(
    x: float, y: float, width: float, height: float, per_point: float, taken: Any, frame: Any
) -> Tuple[Tuple[float, float], Tuple[float, float, float, float]]:
    """The nearest offset (in points) at which a box of that size (in pixels) hits nothing."""
    rows = [0, *(sign * row for row in range(1, FAR_ROWS + 1) for sign in (1, -1))]
    offsets = [(side * (8.0 if row == 0 else 10.0), row * 11.0) for row in rows for side in (1, -1)]
    first: Any = None
    for dx, dy in offsets:
        left = x + dx * per_point - (0 if dx >= 0 else width)
        bottom = y + dy * per_point - height / 2
        spot = (left, bottom, left + width, bottom + height)
        first = first or ((dx, dy), spot)
        inside = left >= frame.x0 and spot[2] <= frame.x1 and frame.y0 <= bottom
        inside = inside and spot[3] <= frame.y1
        if inside and not any(_overlap(spot, other) for other in taken):
            return (dx, dy), spot
    chosen: Tuple[Tuple[float, float], Tuple[float, float, float, float]] = first
    return chosen


def _overlap(
    one: Tuple[float, float, float, float], other: Tuple[float, float, float, float]
) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
