"""Table 2: the programs' requests, and the stdio buffers that the traces lack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from experiments.comparison import Comparison
from experiments.detlefs.paper import KILOBYTE_OF_REQUESTS, PAPER
from simalloc.report import Rounded, Table
from simalloc.report.table import Value
from simalloc.trace import Op, Trace
from simalloc.trace.statistics import Statistics

BUFFER: Final = 8192
"""Size of a stdio buffer in the C library of the time, which allocated it with malloc."""

_STREAMS: Final = 3
"""Number of standard streams; a difference of more buffers has other causes."""

OBJECTS: Final = "Total Objects (10^3)"
BYTES: Final = "Total Bytes (10^3)"
AVERAGE: Final = "Average Size (bytes)"
MAX_OBJECTS: Final = "Max. Objects (10^3)"
MAX_BYTES: Final = "Max. Bytes (10^3)"
COLUMNS: Final = (OBJECTS, BYTES, AVERAGE, MAX_OBJECTS, MAX_BYTES)


def comparison(described: Mapping[str, Statistics]) -> Comparison:
    """Return table 2 beside the traces' figures; a realloc makes a new object, as in print."""
    return Comparison(
        PAPER.table(2),
        {program: _row(one) for program, one in described.items()},
        "K of 1000",
        PAPER.label,
        PAPER.programs,
        COLUMNS,
    )


def buffers(program: str, described: Statistics) -> int:
    """Return the number of stdio buffers that turn the trace's peak into the printed peak.

    Returns 0 if no number up to three agrees within one K.
    """
    gap = PAPER.table(2).cells[program][MAX_BYTES].value - _row(described)[MAX_BYTES]
    exact = gap * KILOBYTE_OF_REQUESTS
    number = round(exact / BUFFER)
    near = abs(exact - number * BUFFER) <= KILOBYTE_OF_REQUESTS
    return number if near and 0 < number <= _STREAMS else 0


def with_buffers(trace: Trace, number: int) -> Trace:
    """Return the trace with stdio buffers allocated before its first event and never freed."""
    added = np.arange(number)
    return Trace.from_events(
        np.concatenate([np.full(number, Op.MALLOC), trace.op]),
        np.concatenate([added, trace.object + number]),
        np.concatenate([np.full(number, BUFFER), trace.size]),
        name=trace.name,
        provenance={**trace.provenance, "stdio buffers added": number},
    )


def buffers_table(described: Mapping[str, Statistics]) -> Table:
    """Return the 8192-byte buffers by which printed totals and peaks exceed the traces'."""
    printed = PAPER.table(2).cells
    rows: list[tuple[Value, ...]] = []
    for program, one in described.items():
        here = _row(one)
        gaps = [
            (printed[program][column].value - here[column]) * KILOBYTE_OF_REQUESTS / BUFFER
            for column in (BYTES, MAX_BYTES)
        ]
        added = buffers(program, one)
        rows.append((PAPER.label(program), *(Rounded(gap, 2) for gap in gaps), added))
    columns = ("program", "total bytes", "peak live bytes", "buffers added here")
    return Table(
        "Published bytes minus traced bytes, in stdio buffers of 8,192 bytes", columns, rows
    )


def _row(described: Statistics) -> dict[str, float]:
    counts = described.counts
    return {
        OBJECTS: counts.lives / KILOBYTE_OF_REQUESTS,
        BYTES: counts.bytes / KILOBYTE_OF_REQUESTS,
        AVERAGE: counts.average_size,
        MAX_OBJECTS: described.peak_objects.amount / KILOBYTE_OF_REQUESTS,
        MAX_BYTES: described.peak_bytes.amount / KILOBYTE_OF_REQUESTS,
    }
