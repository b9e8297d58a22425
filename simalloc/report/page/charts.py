"""Charts of a page on heaps: bytes over time, the kinds of a heap's bytes, and free blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import Run
from simalloc.measure import FreeSizes, Waste
from simalloc.measure.waste import FREE_PARTS, PARTS
from simalloc.plural import counted
from simalloc.report.extremes import HIGHEST, both_extremes
from simalloc.report.page.chart import (
    FAINT,
    FREE,
    INK,
    LINES,
    PAPER,
    Axis,
    Panel,
    bytes_axis,
    chart,
    events_axis,
    filled,
    key,
    log_axis,
    time_axis,
)
from simalloc.report.units import spell_share
from simalloc.sizes import spell_bytes
from simalloc.trace.statistics import Spread, Steps

if TYPE_CHECKING:
    from simalloc.advice import Recorded
    from simalloc.advice.process_tree import ProcessTree

_INTERVALS: Final = 500
"""Number of intervals in a line, more than a reader can distinguish."""
_SHOWN: Final = 6
"""Maximum number of processes with separate colours."""
_SHADES: Final = 8
"""Number of shades for free bytes. Each shade stands for half as many bytes as the next."""


def footprints_chart(runs: Sequence[Run], titles: Sequence[str], process: Recorded) -> str:
    """Return a chart of live, resident and mapped bytes over each run's events, on one scale.

    The first panel also has the recorded process, if it was sampled. Mapped bytes far above all
    resident bytes are cut off.
    """
    top = _top(runs, process)
    panels = []
    for run, title in zip(runs, titles, strict=True):
        panel = Panel(events_axis(run.events), bytes_axis("bytes", top), title)
        line = run.timeline
        time, live = both_extremes(line.interval, line.live_low, line.live_high, _INTERVALS)
        panel.area(time, 0, live, INK, 0.16)
        panel.line(time, live, INK, "stroke-width:1px")
        for footprint, colour in ((run.mapped, LINES[5]), (run.resident, LINES[1])):
            if footprint is not None:
                line = footprint.timeline
                held = both_extremes(line.interval, line.heap_low, line.heap_high, _INTERVALS)
                panel.line(*held, colour)
        panels.append(panel)
    entries = [
        (filled(INK, 0.3), "live"),
        (filled(LINES[1]), "resident"),
        (filled(LINES[5]), "mapped"),
    ]
    if process.has_samples:
        panels[0].line(process.event, process.resident, INK, "stroke-dasharray:2 3")
        entries.append((f"border-top:3px dotted {INK}", "the process (resident)"))
    return key(*entries) + chart("Live, resident and mapped bytes over time", panels, 209)


def _top(runs: Sequence[Run], process: Recorded) -> float:
    written = [run.resident.peak_bytes for run in runs if run.resident is not None]
    if process.has_samples:
        written.append(float(process.resident.max()))
    live = max(run.max_live_bytes for run in runs)
    mapped = max(run.mapped.peak_bytes for run in runs)
    return max(1.0, min(mapped, HIGHEST * max([*written, live]) if written else mapped), *written)


def waste_chart(wastes: Sequence[Waste]) -> str:
    """Return a chart with a bar for each heap, divided into the kinds of its bytes.

    A thin bar below shows the cached and free bytes by the state of their pages, if known.
    """
    names = [waste.name for waste in wastes]
    top = max(1.0, *(waste.heap for waste in wastes))
    rows = Axis("", len(names) - 0.45, -0.55, range(len(names)), lambda row: names[int(row)])
    panel = Panel(bytes_axis("heap at its peak", top, 1.02), rows, is_rows=True)
    entries = []
    places = np.arange(len(names))
    left = np.zeros(len(names))
    blue, orange, green, pink, yellow, sky, grey = LINES
    colours = (blue, orange, yellow, pink, green, sky, FREE, grey)
    for (part, word), colour in zip(PARTS.items(), colours, strict=True):
        sizes = np.array([float(getattr(waste, part)) for waste in wastes])
        if sizes.any():
            panel.blocks(left, left + sizes, places + 0.3, places - 0.3, f"fill:{colour}")
            entries.append((filled(colour), word))
        left += sizes
    entries += _pages_of_free(panel, wastes)
    return key(*entries) + chart("What each heap consists of", [panel], 40 + 15 * len(names))


def _pages_of_free(panel: Panel, wastes: Sequence[Waste]) -> list[tuple[str, str]]:
    """Draw the states of the pages of free and cached bytes below the bars; return the legend."""
    known = [(place, waste) for place, waste in enumerate(wastes) if waste.resident is not None]
    places = np.array([place for place, _ in known])
    left = np.array(
        [one.heap - one.cached - one.free_inside - one.free_at_top for _, one in known], np.float64
    )
    entries = []
    for (part, word), colour in zip(FREE_PARTS.items(), (INK, PAPER, FAINT), strict=True):
        sizes = np.array([getattr(waste, part) for _, waste in known], np.float64)
        if sizes.any():
            style = f"fill:{colour};stroke:{INK};stroke-width:1px"
            panel.blocks(left, left + sizes, places + 0.46, places + 0.32, style)
            entries.append((f"background:{colour};outline:1px solid {INK}", word))
        left += sizes
    return entries


def free_sizes_chart(free: Sequence[FreeSizes], titles: Sequence[str]) -> str:
    """Return panels with time across and sizes of free blocks up, shaded by their bytes."""
    most = int(np.log2(max(1.0, *(float(one.bytes.max(initial=1)) for one in free))))
    lowest = min(one.first_class for one in free)
    highest = max(one.first_class + len(one.bytes) for one in free)
    up = log_axis("size of a free block", 2.0**lowest, 2.0 ** max(highest, lowest + 1))
    panels = []
    for one, title in zip(free, titles, strict=True):
        edges = np.append(0, one.events + 1)
        panel = Panel(events_axis(int(edges[-1])), up, title)
        powers = np.log2(np.maximum(one.bytes, 1)).astype(int)
        shades = np.where(one.bytes > 0, np.maximum(powers - most, 1 - _SHADES), 1)
        for shade in range(1 - _SHADES, 1):
            _shaded(panel, shades == shade, edges, 2.0**one.first_class, _opacity(shade))
        panels.append(panel)
    entries = [
        (filled(LINES[0], _opacity(shade)), f"≥ {spell_bytes(2 ** (most + shade))}")
        for shade in range(2 - _SHADES, 1, 2)
        if most + shade >= 0
    ]
    words = "<p>Bytes in free blocks, by the size of the block:</p>\n"
    return words + key(*entries) + chart("Sizes of free blocks over time", panels, 202)


def _opacity(shade: int) -> float:
    """Return the opacity of a shade, which is 0 for the darkest and negative for lighter shades."""
    return 1 + 0.88 * shade / (_SHADES - 1)


def _shaded(
    panel: Panel, cells: NDArray[np.bool_], edges: NDArray[np.int64], first: float, opacity: float
) -> None:
    """Fill cells, shape (sizes, moments). Adjacent cells of a row are one rectangle."""
    closed = np.pad(cells.astype(np.int8), ((0, 0), (1, 1)))
    changes = np.diff(closed, axis=1)
    row, begins = np.nonzero(changes == 1)
    _, ends = np.nonzero(changes == -1)
    if len(row):
        style = f"fill:{LINES[0]};opacity:{opacity:.2g}"
        low = first * 2.0**row
        panel.blocks(edges[begins], edges[ends], low, 2 * low, style)


def lives_chart(spread: Spread) -> str:
    """Return a chart of sizes and lifetimes, as cumulative shares of objects and of bytes."""
    share = Axis("share", 0, 1.02, [0, 0.2, 0.4, 0.6, 0.8, 1], spell_share)
    panels = []
    for steps, name in (
        (spread.by_size, "size at most (bytes requested)"),
        (spread.by_lifetime, "lifetime at most (bytes allocated meanwhile)"),
    ):
        there = np.flatnonzero(steps.objects)
        values = steps.largest[there]
        ends = (1, 2) if not len(values) else (values[0], max(1.1 * values[-1], 2 * values[0]))
        panel = Panel(log_axis(name, *map(float, ends)), share)
        _draw_shares(panel, steps, there)
        panels.append(panel)
    entries = (
        (filled(LINES[0]), "share of objects"),
        (filled(LINES[1]), "share of bytes (dashed)"),
    )
    return key(*entries) + chart("Sizes and lifetimes of objects", panels, 180)


def _draw_shares(panel: Panel, steps: Steps, there: NDArray[np.int64]) -> None:
    for weight, colour, style in (
        (steps.objects, LINES[0], ""),
        (steps.bytes, LINES[1], "stroke-dasharray:6 3"),
    ):
        reached = np.cumsum(weight[there])
        if len(reached) and reached[-1]:
            x, y = steps.largest[there].repeat(2), (reached / reached[-1]).repeat(2)
            panel.line(x[1:], y[:-1], colour, style)


def process_tree_chart(tree: ProcessTree) -> str:
    """Return a chart of the stacked resident bytes of processes, with a line of all live bytes."""
    shown = tree.large[:_SHOWN]
    rest = [one for one in tree.processes if one not in shown]
    layers = [(f"{one.name} ({one.number})", one.resident) for one in shown]
    if rest:
        others = np.sum([one.resident for one in rest], axis=0)
        layers.append((counted(len(rest), "other"), others))
    last = max(float(tree.seconds[-1]), 1e-9)
    across = time_axis("time (seconds)", last)
    panel = Panel(across, bytes_axis("resident", max(1.0, float(tree.resident.max()))))
    time = tree.seconds.repeat(2)[1:]
    entries = _stacked(panel, time, [(name, held.repeat(2)[:-1]) for name, held in layers])
    panel.line(tree.seconds, tree.live, INK)
    label = "Resident bytes of processes over time"
    return key(*entries, (filled(INK), "live bytes")) + chart(label, [panel], 230)


def live_by_code_chart(
    events: NDArray[np.int64], live: NDArray[np.int64], names: Sequence[str]
) -> str:
    """Return a chart of stacked live bytes, shape (names, events); the last row is all others."""
    top = max(1.0, float(live.sum(axis=0).max(initial=0)))
    panel = Panel(events_axis(int(events[-1])), bytes_axis("live", top))
    entries = _stacked(panel, events, list(zip(names, live, strict=True)))
    return key(*entries) + chart("Live bytes over time by code", [panel], 209)


def _stacked(
    panel: Panel, time: NDArray[Any], layers: Sequence[tuple[str, NDArray[Any]]]
) -> list[tuple[str, str]]:
    """Draw stacked layers, the last in grey if there are more than two. Return the legend."""
    below = np.zeros(len(time))
    entries = []
    for place, (name, held) in enumerate(layers):
        is_rest = 0 < place == len(layers) - 1
        colour = LINES[-1] if is_rest else LINES[place % (len(LINES) - 1)]
        panel.area(time, below, below + held, colour)
        entries.append((filled(colour), name))
        below = below + held
    return entries
