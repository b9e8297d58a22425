"""Differences of the generated workloads from the paper's figures on its traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from experiments.comparison import Comparison
from experiments.gabber.paper import MEGABYTE, OF_BYTES, OF_OBJECTS, PAPER, text
from experiments.gabber.programs import EMACS, HUMMINGBIRD
from experiments.gabber.runs import FIT_COLUMNS
from simalloc.report import Rounded, Table
from simalloc.report.table import Value
from simalloc.trace import Op, Trace
from simalloc.trace.statistics import lives_of

_TABLES: Final = {HUMMINGBIRD: 1, EMACS: 2}
_FILLED: Final = 0.25
"""Share of the events after which Hummingbird's memory is full."""

_SMALL: Final = 648
_FILE_SIZES: Final = (128, 32760)
_OFTEN, _SELDOM = 1000, 32
_RANGES: Final = {
    HUMMINGBIRD: ((8, 120), (128, 32760), (32768, 32768), (32776, 39_966_072)),
    EMACS: ((8, 96), (104, 640), (648, 648), (656, 23568)),
}


def shares(key: str, trace: Trace) -> Comparison:
    """Return table 1 or 2 beside the generated trace's own shares."""
    published = PAPER.table(_TABLES[key])
    size, times = _sizes(trace)
    alone = [int(row) for row in published.rows if "-" not in row]
    measured: dict[str, dict[str, float]] = {}
    for row in published.rows:
        first, _, last = row.partition("-")
        inside = (size >= int(first)) & (size <= int(last or first))
        if last:
            inside &= ~np.isin(size, alone)
        measured[row] = {
            OF_OBJECTS: 100 * float(times[inside].sum() / times.sum()),
            OF_BYTES: 100 * float((size * times)[inside].sum() / (size * times).sum()),
        }
    return Comparison(published, measured, "generated", str, published.rows, (OF_OBJECTS, OF_BYTES))


def prose_table(traces: Mapping[str, Trace]) -> Table:
    """Return the statements of the prose and of figures 1 and 4 beside the full traces' values."""
    rows = [
        (key, *row)
        for key, trace in traces.items()
        for row in (_hummingbird if key == HUMMINGBIRD else _emacs)(trace)
    ]
    return Table("The prose and the figures", FIT_COLUMNS, rows)


def lives_table(key: str, trace: Trace) -> Table:
    """Return figures 2 and 3, or 5 and 6: mean bytes allocated during a lifetime, by size.

    An object that is never freed lives to the end of the trace.
    """
    lives = lives_of(trace)
    rows: list[tuple[Value, ...]] = []
    for first, last in _RANGES[key]:
        inside = (lives.size >= first) & (lives.size <= last)
        rows.append(
            (
                f"{first:,} to {last:,}",
                Rounded(100 * float(np.mean(~lives.freed[inside])), 1),
                Rounded(float(lives.length[inside].mean()) / 1024, 1),
                Rounded(float(lives.lifetime[inside].mean()) / MEGABYTE, 1),
            )
        )
    columns = (
        "bytes",
        "% never freed",
        "K objects allocated during a life",
        "MB allocated during a life",
    )
    return Table(f"{key}, generated: lives by size", columns, rows)


def _hummingbird(trace: Trace) -> list[tuple[Value, ...]]:
    printed = text(HUMMINGBIRD)
    size, times = _sizes(trace)
    live = trace.replayed.live[int(_FILLED * len(trace)) :] / MEGABYTE
    files = (size >= _FILE_SIZES[0]) & (size <= _FILE_SIZES[1])
    slope = -float(np.polyfit(np.log(size[files]), np.log(times[files]), 1)[0])
    return [
        ("events, millions", _millions(printed["events"]), _millions(len(trace))),
        (
            "live MB, mean once the cache is full",
            printed["live_bytes"] / MEGABYTE,
            _one(float(live.mean())),
        ),
        ("live MB, lowest and highest", "flat", f"{live.min():.1f} and {live.max():.1f}"),
        ("largest object", printed["largest"], int(size.max())),
        ("sizes", f"more than {printed['sizes']:,}", len(size)),
        ("exponent by which counts fall with size, 128 to 32,760", "close to 1", Rounded(slope, 2)),
    ]


def _emacs(trace: Trace) -> list[tuple[Value, ...]]:
    printed = text("emacs")
    size, times = _sizes(trace)
    often = int(np.count_nonzero(times > _OFTEN))
    seldom = int(np.count_nonzero(times < _SELDOM))
    small = size <= _SMALL
    live = _one(printed["live_bytes"] / MEGABYTE)
    return [
        ("events, millions", _millions(printed["events"]), _millions(len(trace))),
        ("live MB at the end", live, _one(float(trace.replayed.live[-1]) / MEGABYTE)),
        ("largest object", printed["largest"], int(size.max())),
        (
            f"% of objects up to {_SMALL} bytes",
            "more than 98",
            _one(100 * float(times[small].sum() / times.sum())),
        ),
        (
            f"% of bytes up to {_SMALL} bytes",
            "about 65",
            _one(100 * float((size * times)[small].sum() / (size * times).sum())),
        ),
        (f"number of sizes allocated more than {_OFTEN} times", "not printed", often),
        (f"number of sizes allocated fewer than {_SELDOM} times", "not printed", seldom),
        (
            f"number of sizes allocated {_SELDOM} to {_OFTEN} times",
            "none",
            len(size) - often - seldom,
        ),
    ]


def _sizes(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct sizes and the number of allocations of each."""
    return np.unique(trace.size[trace.op == Op.MALLOC], return_counts=True)


def _millions(number: float) -> Value:
    return _one(number / 1e6)


def _one(figure: float) -> Value:
    return Rounded(figure, 1)
