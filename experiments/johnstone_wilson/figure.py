"""Figure 1: GCC under simple segregated storage, and the four ways to measure its fragmentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from experiments.comparison import difference
from experiments.johnstone_wilson.published import catalogue
from experiments.johnstone_wilson.replays import Job, percent
from experiments.published import Printed
from simalloc.heap import Run
from simalloc.measure import fragmentation
from simalloc.report import Rounded, Table
from simalloc.report.table import Value
from simalloc.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes


JOB: Final = Job("gcc", "simple-seg-2n")
"""Simulation that the figure shows; both growth variants have the same policy in this row."""

_STYLE: Final[Any] = {"font.family": "serif", "font.size": 9, "axes.linewidth": 0.6}


def measures_table(run: Run) -> Table:
    """Return measures #1 to #4 of the figure's run, published and measured."""
    printed = catalogue()["figure"]["1"]["measures"]
    by_bytes = 100 * fragmentation(run).mean_by_bytes
    rows = [
        _measure("#1, by events", printed["1"], percent(run, 1)),
        _measure("#1, by bytes", printed["1"], by_bytes),
        *(
            _measure(f"#{number}", printed[str(number)], percent(run, number))
            for number in (2, 3, 4)
        ),
    ]
    columns = ("measure", "published", "here", "difference")
    return Table("Figure 1: GCC under simple seg 2^N, percent", columns, rows)


def _measure(name: str, text: str, measured: float) -> tuple[Value, ...]:
    printed = Printed(text)
    values = (printed.value, measured)
    gap = difference(*values, printed.decimals)
    return (name, *(Rounded(value, printed.decimals) for value in values), gap)


def draw(run: Run, trace: Trace, stream: BinaryIO) -> None:
    """Draw the heap and the live bytes over time, with the paper's points 1 to 4, as a PNG."""
    import matplotlib as mpl  # noqa: PLC0415 - slow import, only for pictures
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow import, only for pictures

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(6.4, 4.2), dpi=150)
        axes = figure.add_subplot()
        _lines(axes, run, trace)
        _points(axes, run, trace)
        axes.set_xlabel("time (megabytes allocated)")
        axes.set_ylabel("kilobytes")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.tick_params(direction="in", top=True, right=True, width=0.6)
        figure.tight_layout()
        figure.savefig(stream, format="png", metadata={"Software": None})


def _lines(axes: Axes, run: Run, trace: Trace) -> None:
    line = run.timeline
    time = np.repeat(_megabytes(run, trace), 2)
    for low, high in ((line.heap_low, line.heap_high), (line.live_low, line.live_high)):
        # Plot both extremes of every interval so that no spike is lost.
        axes.plot(time, np.stack((low, high), axis=1).ravel() / 1024, color="black", linewidth=0.7)


def _points(axes: Axes, run: Run, trace: Trace) -> None:
    """Mark heap and live bytes at the peak of live bytes (1, 2) and at the peak heap (3, 4)."""
    time = _megabytes(run, trace)
    most_live = float(time[np.argmax(run.timeline.live_high)])
    peak_heap = float(time[np.argmax(run.timeline.heap_high)])
    points = (
        (most_live, run.heap_bytes_at_max_live, (5, -11)),
        (most_live, run.max_live_bytes, (5, 4)),
        (peak_heap, run.peak_heap_bytes, (-9, 4)),
        (peak_heap, run.live_bytes_at_peak_heap, (5, 4)),
    )
    for number, (x, size, offset) in enumerate(points, start=1):
        axes.plot(x, size / 1024, marker="o", markersize=3.5, color="black")
        axes.annotate(str(number), (x, size / 1024), offset, textcoords="offset points")
    axes.set_ylim(top=1.1 * run.peak_heap_bytes / 1024)


def _megabytes(run: Run, trace: Trace) -> NDArray[np.float64]:
    """Return the megabytes allocated up to the start of each interval of the timeline."""
    allocated = np.cumsum(trace.size)[:: run.timeline.interval]
    return np.asarray(allocated / 2**20, np.float64)
