"""Figure of a program's requests: times, sizes and lifetimes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from simalloc.errors import TraceError
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.portrait_joint import (
    CellCounts,
    Cells,
    draw_cells,
    draw_lifetimes,
    draw_sizes,
)
from simalloc.report.figures.portrait_live import LiveStack, draw_live
from simalloc.report.figures.style import new_figure, styled
from simalloc.report.palettes import Palette
from simalloc.report.units import spell_percent, spell_share
from simalloc.sizes import spell_bytes
from simalloc.trace import EventSource
from simalloc.trace.statistics import COVERAGE, SHARES, LifeReader, Statistics, describe
from simalloc.trace.statistics.quantiles import passes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_portrait(
    source: EventSource,
    statistics: Statistics | None = None,
    *,
    theme: Literal["light", "dark"] = "light",
    progress: Callable[[float], None] = lambda _: None,
) -> Picture:
    """Return a figure of the live bytes over time, sizes and lifetimes of a trace.

    The figure also states the main statistics. A realloc makes a new object. `statistics` are the
    statistics of the trace, if known. Dashed lines mark
    the sizes and lifetimes that 90, 99 and 99.9 % of the objects do not exceed. `progress` is
    called with the share of the work done since the last call. Raises `TraceError` for a trace
    without events.
    """
    if not len(source):
        raise TraceError("has no events to draw", path=source.name)
    statistics = statistics or describe(source)
    live, cells = _survey(source, progress)
    with styled(theme) as palette:
        figure = new_figure(5.9)
        figure.suptitle(source.name, x=0.008, ha="left", fontsize=11, fontweight="bold")
        grid = figure.add_gridspec(
            3, 3, width_ratios=(3.4, 1.15, 2.0), height_ratios=(1.45, 0.85, 2.3)
        )
        draw_live(figure.add_subplot(grid[0, :]), live, palette)
        joint = figure.add_subplot(grid[2, 0])
        draw_cells(joint, cells, palette)
        draw_sizes(figure.add_subplot(grid[1, 0], sharex=joint), cells, palette)
        draw_lifetimes(figure.add_subplot(grid[2, 1], sharey=joint), cells, palette)
        _key(figure.add_subplot(grid[1, 1]), palette)
        _write_facts(figure.add_subplot(grid[1:, 2]), statistics, palette)
    return figure


def _survey(source: EventSource, progress: Callable[[float], None]) -> tuple[LiveStack, Cells]:
    """Read the trace for the figure, repeatedly if the marks need it."""
    live, counts = LiveStack(len(source)), CellCounts(source.allocated_bytes)
    work = len(source) * passes(source.allocated_bytes)
    for events in LifeReader(source):
        live.add(events)
        counts.add(events)
        progress(len(events) / work)
    counts.narrow()
    while (cells := counts.cells) is None:
        for events in LifeReader(source):
            counts.add(events)
            progress(len(events) / work)
        counts.narrow()
    return live, cells


def _key(axes: Axes, palette: Palette) -> None:
    axes.set_axis_off()
    handles = [
        Patch(facecolor=palette.faint, label="of objects"),
        Line2D([], [], color=palette.accent, linewidth=1.0, label="of bytes"),
    ]
    axes.legend(handles=handles, loc="center left", borderaxespad=0.0)


def _write_facts(axes: Axes, statistics: Statistics, palette: Palette) -> None:
    """Write a line for each pair of name and value. An empty pair leaves half a line."""
    axes.set_axis_off()
    axes.set_ylim(0, 1)
    rows = list(_facts(statistics))
    step = 1 / (sum(1.0 if name else 0.5 for name, _ in rows) + 0.5)
    below = 1.0
    for name, figure in rows:
        below -= step if name else step / 2
        axes.text(0.0, below, name, color=palette.ink, fontsize=7, va="bottom", alpha=0.75)
        axes.text(1.0, below, figure, color=palette.ink, fontsize=7, va="bottom", ha="right")


def _facts(statistics: Statistics) -> Iterator[tuple[str, str]]:
    counts, reallocs, left = statistics.counts, statistics.reallocs, statistics.never_freed
    yield "events", f"{counts.events:,}"
    yield "objects", f"{counts.objects:,}"
    yield "allocated", spell_bytes(counts.bytes)
    yield "average size", spell_bytes(counts.average_size)
    yield "average lifetime", spell_bytes(statistics.lifetimes.mean)
    yield "never freed, of objects", spell_percent(left.share_of_objects)
    yield "never freed, of bytes", spell_percent(left.share_of_bytes)
    yield "", ""
    for share, number in zip(COVERAGE, statistics.sizes.covering, strict=True):
        yield f"sizes that make {spell_share(share)}", f"{number:,}"
    yield "", ""
    for share, wait in zip(SHARES, statistics.neighbours.objects, strict=True):
        yield f"neighbours free, {spell_share(share)}", spell_bytes(wait)
    yield "", ""
    yield "reallocs", f"{reallocs.events:,}"
    if reallocs.events:
        yield "of objects", spell_percent(reallocs.events / counts.lives)
        yield "that grow", spell_percent(reallocs.grew / reallocs.events)
        yield "that shrink", spell_percent(reallocs.shrank / reallocs.events)
    if statistics.threads:
        yield "", ""
        others = sum(thread.freed_for_others for thread in statistics.threads)
        yield "threads", f"{len(statistics.threads):,}"
        yield "freed by another thread", spell_percent(others / max(1, counts.lives))
