"""Choices that affect the figures of the paper's own runs: stdio buffers, the collector's roots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from experiments.detlefs.behaviour import with_buffers
from experiments.detlefs.paper import KILOBYTE_OF_HEAP, NEAR, PAPER, SAME_RUN
from experiments.mallocs import Progress, Runs, at_hand, replay, with_mechanism
from simalloc.report import Rounded, Table
from simalloc.report.table import Value
from simalloc.trace import Trace

BUFFERS: Final = (0, 1, 2, 3)
"""Numbers of stdio buffers before a trace, up to one for each standard stream."""

COLLECTOR: Final = "bw-gc-2.6"
ROOTS: Final = ("64K", "128K", "256K", "512K")
"""Bytes of static data and stack that the collector scans; the model uses the first value."""


def measure_choices(
    traces: Mapping[str, Trace], buffered: Mapping[str, int], progress: Progress
) -> Runs:
    """Replay the paper's own runs with every number of buffers, and the collector with all roots.

    `buffered` contains the number of buffers that table 2 implies, by program, if it is not 0.
    """
    texts = [with_mechanism(name) for name in at_hand(PAPER)]
    some = {
        _key(program, number): with_buffers(traces[program], number)
        for program in SAME_RUN
        for number in BUFFERS
    }
    chosen = {key: some[key] for key in (_key(p, buffered.get(p, 0)) for p in SAME_RUN)}
    return replay(some, texts, progress) | replay(chosen, [_rooted(r) for r in ROOTS], progress)


def _key(program: str, number: int) -> str:
    return f"{program} with {number} buffers"


def _rooted(roots: str) -> str:
    return f"{with_mechanism(COLLECTOR)},roots={roots}"


def _kilobytes(runs: Runs, key: str, text: str) -> float:
    return runs[key, text].peak_heap_bytes / KILOBYTE_OF_HEAP


def is_near(program: str, name: str, kilobytes: float) -> bool:
    """Return whether a heap is within 5 % of table 9."""
    return abs(kilobytes / PAPER.table(9).cells[program][name].value - 1) <= NEAR


def heap(runs: Runs, program: str, number: int, name: str) -> float:
    """Return an allocator's peak heap with `number` buffers, in the K of table 9."""
    return _kilobytes(runs, _key(program, number), with_mechanism(name))


def cells_near(runs: Runs, program: str, number: int) -> int:
    """Return the number of the five heaps that are near print with `number` buffers."""
    return sum(is_near(program, n, heap(runs, program, number, n)) for n in at_hand(PAPER))


def buffers_choice_table(runs: Runs, buffered: Mapping[str, int]) -> Table:
    """Return print and one row per number of buffers, for each program whose run is the paper's."""
    names = at_hand(PAPER)
    rows: list[tuple[Value, ...]] = []
    for program in SAME_RUN:
        printed = (Rounded(PAPER.table(9).cells[program][name].value, 0) for name in names)
        rows.append((f"{PAPER.label(program)}: published", None, *printed, None))
        for number in BUFFERS:
            heaps = (Rounded(heap(runs, program, number, name), 0) for name in names)
            mark = "as table 2 says" if number == buffered.get(program, 0) else ""
            rows.append((mark, number, *heaps, cells_near(runs, program, number)))
    columns = ("", "buffers", *map(PAPER.label, names), "near")
    note = f"near: the number of mallocs within {100 * NEAR:.0f} % of print."
    return Table("Table 9 by the number of stdio buffers, K of 1024", columns, rows, (note,))


def collector_heap(runs: Runs, program: str, buffered: Mapping[str, int], roots: str) -> float:
    """Return the collector's peak heap with `roots` bytes of roots, in the K of table 9."""
    return _kilobytes(runs, _key(program, buffered.get(program, 0)), _rooted(roots))


def roots_table(runs: Runs, buffered: Mapping[str, int]) -> Table:
    """Return the collector's heaps by the size of its roots, beside print."""
    rows: list[tuple[Value, ...]] = [
        (
            PAPER.label(program),
            Rounded(PAPER.table(9).cells[program][COLLECTOR].value, 0),
            *(Rounded(collector_heap(runs, program, buffered, roots), 0) for roots in ROOTS),
        )
        for program in SAME_RUN
    ]
    columns = ("program", "published", *(f"roots of {roots}" for roots in ROOTS))
    return Table("Table 9's collector by the size of its roots, K of 1024", columns, rows)
