"""Figure of threads over time: the live bytes of each thread, and its first and last events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import TraceError
from simalloc.report.figures.axes import bytes_axis, events_axis
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure, styled
from simalloc.report.palettes import Palette, Theme
from simalloc.trace import EventSource
from simalloc.trace.events import allocates
from simalloc.trace.statistics import LifeEvents, LifeReader, Thread, describe
from simalloc.trace.statistics.liveness import spans_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SPANS: Final = 700
"""Number of spans, more than the number of pixels across the figure."""

_MAX_ROWS: Final = 40
"""Maximum number of threads that have a line."""


def draw_threads(source: EventSource, *, theme: Theme = "light") -> Picture:
    """Return a figure of the live bytes by thread over time, above the duration of each thread.

    An object belongs to the thread that allocated or reallocated it last. The threads with the
    largest peaks of live bytes have a colour each, and all other threads share one colour.
    Raises `TraceError` for a trace without threads.
    """
    threads = describe(source).threads
    if not threads:
        raise TraceError("does not record threads", path=source.name)
    with styled(theme) as palette:
        named = sorted(threads, key=lambda one: -one.peak_live_bytes)[: len(palette.lines) - 1]
        numbers = [one.thread for one in named]
        figure = new_figure(2.6 + 0.07 * min(len(threads), _MAX_ROWS))
        above, below = figure.subplots(
            2, 1, sharex=True, height_ratios=(3, max(1.0, len(threads[:_MAX_ROWS]) / 12))
        )
        starts, live = _live_by_thread(source, numbers)
        _draw_live(above, starts, live, [*(f"thread {n}" for n in numbers), "others"], palette)
        _draw_spans(below, threads[:_MAX_ROWS], numbers, palette)
        if len(threads) > _MAX_ROWS:
            below.set_ylabel(f"the first {_MAX_ROWS} of {len(threads):,} threads")
        above.set_xlim(0, max(1, len(source)))
    return figure


def _live_by_thread(
    source: EventSource, numbers: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first event of each span of the trace, and the live bytes after its last event.

    The live bytes have the shape (threads + 1, spans): a row for each named thread, and one for all
    others.
    """
    starts = np.unique(np.arange(_SPANS) * len(source) // _SPANS)
    live = np.zeros((len(numbers) + 1, len(starts)), np.int64)
    now = np.zeros((len(numbers) + 1, 1), np.int64)
    for events in LifeReader(source, "thread"):
        if events.last:
            continue
        held = now + np.cumsum(_changes(events, numbers), axis=1)
        now = held[:, -1:]
        spans, cuts = spans_of(starts, events.first, len(events))
        ends = np.append(cuts[1:], len(events)) - 1
        live[:, spans.start : spans.stop] = held[:, ends]
    return starts, live


def _changes(events: LifeEvents, numbers: Sequence[int]) -> NDArray[np.int64]:
    """Return the change of live bytes by each event, for each named thread and for all others."""
    assert events.mark is not None, "the reader was opened for threads"
    change = np.zeros((len(numbers) + 1, len(events)), np.int64)
    born = np.flatnonzero(allocates(events.op))
    ended = events.ended
    np.add.at(change, (_row(events.mark[born], numbers), born), events.size[born])
    np.subtract.at(change, (_row(ended.mark, numbers), ended.died - events.first), ended.size)
    return change


def _row(thread: NDArray[np.int64], numbers: Sequence[int]) -> NDArray[np.int64]:
    """Return the row of each thread, by its position in `numbers`, or the last row."""
    row = np.full(len(thread), len(numbers), np.int64)
    for place, number in enumerate(numbers):
        row[thread == number] = place
    return row


def _draw_live(
    axes: Axes,
    starts: NDArray[np.int64],
    live: NDArray[np.int64],
    names: Sequence[str],
    palette: Palette,
) -> None:
    """Draw the live bytes, stacked by thread."""
    shown = [row for row in range(len(live)) if live[row].any()]
    axes.stackplot(
        starts,
        live[shown],
        labels=[names[row] for row in shown],
        colors=[_colour(row, len(live) - 1, palette) for row in shown],
        linewidth=0,
    )
    most = int(live.sum(axis=0).max())
    axes.set_ylim(0, 1.05 * max(1, most))
    bytes_axis(axes.yaxis, max(1, most))
    axes.set_ylabel("live, by thread")
    axes.grid(axis="y", alpha=0.4)
    axes.set_axisbelow(True)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), borderaxespad=0.2)


def _draw_spans(
    axes: Axes, threads: Sequence[Thread], named: Sequence[int], palette: Palette
) -> None:
    """Draw a line for each thread, from its first event to its last."""
    for row, one in enumerate(threads):
        place = named.index(one.thread) if one.thread in named else len(named)
        colour = _colour(place, len(named), palette)
        axes.hlines(row, one.first_event, one.last_event + 1, color=colour, linewidth=2)
    axes.set_ylim(len(threads) - 0.5, -0.5)
    axes.set_yticks([])
    axes.set_ylabel("threads")
    axes.set_xlabel("time (events)")
    events_axis(axes.xaxis)


def _colour(row: int, others: int, palette: Palette) -> str:
    return palette.faint if row == others else palette.lines[row]
