"""Figure of heap and live bytes over time, for several policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, product
from typing import TYPE_CHECKING, Final, Literal

from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from simalloc.errors import SimallocError
from simalloc.heap.quantity import NAMES, Quantity, footprint, worst
from simalloc.measure.free_log import NOT_REPORTED, FreeLog
from simalloc.policy import spell
from simalloc.report.extremes import both_extremes
from simalloc.report.figures.axes import bytes_axis, events_axis
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure, styled
from simalloc.report.palettes import Palette, Theme
from simalloc.sizes import spell_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simalloc.heap import Run, Timeline

Dashes = Literal["solid", "dashed", "dotted"]
_DASHES: Final[tuple[Dashes, ...]] = ("solid", "dashed", "dotted")
_AXES: Final[dict[Quantity, str]] = {
    "mapped": "heap",
    "resident": "resident",
    "largest-free": "largest free block",
}


def draw_timelines(
    runs: Sequence[Run],
    *,
    of: Quantity = "mapped",
    events: tuple[int, int] | None = None,
    reported: FreeLog | None = None,
    theme: Theme = "light",
) -> Picture:
    """Return a figure of a quantity of heaps over time by policy, above the live bytes.

    Every interval of the timelines is drawn from its minimum to its maximum, so that no spike is
    lost. `events` selects a window. The bytes that a board reported are points between the first
    and the last event. Raises `SimallocError` if the runs are of several traces or have not
    measured the quantity, or if bytes are reported and the quantity is not the largest free block.
    """
    if len({(run.trace, run.events) for run in runs}) != 1:
        raise SimallocError(
            "the runs are of several traces; a picture of heaps over time takes runs of one trace"
        )
    if reported is not None and of != "largest-free":
        raise SimallocError('a log of a board can be drawn only with of="largest-free"')
    with styled(theme) as palette:
        figure = new_figure(3.2)
        axes = figure.add_subplot()
        draw_live(axes, runs[0].timeline, palette)
        order = sorted(runs, key=lambda run: -worst(run, of).bytes)
        for run, (dashes, colour) in zip(order, _strokes(palette), strict=False):
            _draw_heap(axes, footprint(run, of).timeline, colour, dashes)
        axes.set_xlim(events or (0, runs[0].events))
        top = max(footprint(run, of).peak_bytes for run in runs)
        if of == "largest-free":
            top = max(top, *(run.max_live_bytes for run in runs))
        if reported is not None:
            _draw_reported(axes, reported, runs[0].events, palette)
            top = max(top, int(reported.free.max()), int(reported.largest.max()))
        axes.set_ylim(0, 1.05 * top)
        bytes_axis(axes.yaxis, top)
        events_axis(axes.xaxis)
        axes.set_xlabel("time (events)")
        axes.set_ylabel(_AXES[of])
        axes.grid(axis="y", alpha=0.4)
        axes.set_axisbelow(True)
        _key(axes, order, of, palette)
    return figure


def _strokes(palette: Palette) -> Iterator[tuple[Dashes, str]]:
    """Yield dashes and colours for one run after the other; a recurring colour has other dashes."""
    return cycle(product(_DASHES, palette.lines))


def _key(axes: Axes, runs: Sequence[Run], of: Quantity, palette: Palette) -> None:
    handles: list[Artist] = [
        Line2D(
            [],
            [],
            color=colour,
            linestyle=dashes,
            linewidth=1.5,
            label=f"{spell(run.policy)}, {_worst(run, of)}",
        )
        for run, (dashes, colour) in zip(runs, _strokes(palette), strict=False)
    ]
    handles.append(Patch(facecolor=palette.faint, edgecolor=palette.ink, label="live bytes"))
    handles += axes.get_legend_handles_labels()[0]
    axes.legend(
        handles=handles,
        title=NAMES[of] if of == "largest-free" else f"{NAMES[of]} / peak live",
        alignment="left",
        loc="upper left",
        bbox_to_anchor=(1.0, 1.02),
        borderaxespad=0.2,
    )


def _worst(run: Run, of: Quantity) -> str:
    """Return the worst value of a run. Heap sizes are relative to the peak live bytes."""
    held = worst(run, of).bytes
    if of == "largest-free":
        return spell_bytes(held)
    return f"{held / run.max_live_bytes:.2f}" if run.max_live_bytes else "no live"


def draw_live(axes: Axes, line: Timeline, palette: Palette) -> None:
    """Draw the live bytes as an area."""
    time, live = both_extremes(line.interval, line.live_low, line.live_high)
    axes.fill_between(time, live, color=palette.ink, alpha=0.16, linewidth=0)
    axes.plot(time, live, color=palette.ink, linewidth=0.6)


def _draw_reported(axes: Axes, reported: FreeLog, events: int, palette: Palette) -> None:
    """Draw the bytes that a board reported: largest free block as crosses, free bytes as rings."""
    kinds = (("largest free block, board", reported.largest, "x"),
             ("free bytes, board", reported.free, "o"))  # fmt: skip
    for label, sizes, marker in kinds:
        is_known = sizes != NOT_REPORTED
        if is_known.any():
            axes.plot(
                events * reported.share[is_known],
                sizes[is_known],
                linestyle="none",
                marker=marker,
                markersize=4,
                fillstyle="none",
                color=palette.ink,
                label=label,
            )


def _draw_heap(axes: Axes, line: Timeline, colour: str, dashes: Dashes) -> None:
    axes.plot(
        *both_extremes(line.interval, line.heap_low, line.heap_high),
        color=colour,
        linestyle=dashes,
        linewidth=1.2,
    )
