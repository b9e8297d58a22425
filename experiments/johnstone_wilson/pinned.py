"""Tables 3 and 4 replayed at the peak live bytes that table 4 pins, in percent and in bytes.

Our traces lack libc's own allocations: on three of the five programs fewer bytes are live than in
the paper. These missing bytes are allocated before the trace as one object that is never freed. On
GCC and Perl, our traces have more live bytes than the paper's, and nothing is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from experiments.johnstone_wilson.alterations import STDIO_BUFFER, Objects
from experiments.johnstone_wilson.fragmentation import NUMBERS, Runs
from experiments.johnstone_wilson.growth_unit import SEQUENTIAL, pinned_live
from experiments.johnstone_wilson.heaps import printed_heap, step
from experiments.johnstone_wilson.programs import GENUINE
from experiments.johnstone_wilson.published import label, table
from experiments.johnstone_wilson.rank_order import Tau, tau_of
from experiments.johnstone_wilson.replays import Job, percent
from experiments.johnstone_wilson.variants import AS_PRINTED
from simalloc.heap import Run
from simalloc.report import Rounded, Table
from simalloc.report.table import Value
from simalloc.trace.catalogue import catalogue


def missing_bytes(program: str) -> int:
    """Return the paper's peak live bytes minus our trace's; the difference may be negative.

    The paper's figure is the median of the numbers of live bytes that table 4 pins.
    """
    live = pinned_live(program)
    return int(live[len(live) // 2]) - catalogue()[program].totals.max_live_bytes


MISSING_BYTES: Final = {
    program: missing for program in GENUINE if (missing := missing_bytes(program)) > 0
}

HOW: Final = {
    "one": {program: Objects((missing,)) for program, missing in MISSING_BYTES.items()},
    "two": {
        program: Objects((half, missing - half))
        for program, missing in MISSING_BYTES.items()
        for half in [min(STDIO_BUFFER, missing // 2)]
    },
}
"""Missing bytes as one object or as two (a stdio buffer and the remaining bytes, or halves)."""


def job(program: str, policy: str, how: str = "one") -> Job:
    """Return the simulation of a row at the pinned live bytes, as recorded if none are missing."""
    return Job(program, AS_PRINTED.policies[policy], alteration=HOW[how].get(program))


JOBS: Final = tuple(
    job(program, policy, how)
    for how in HOW
    for program in MISSING_BYTES
    for policy in AS_PRINTED.policies
)


def order(program: str, number: int, runs: Runs, how: str = "one") -> Tau:
    """Return the agreement of the nine sequential fits with the printed order of table 3 or 4."""
    printed = {row: table(number).cells[row][program].value for row in SEQUENTIAL}
    here = {row: percent(runs[_way(program, row, how)], number) for row in SEQUENTIAL}
    return tau_of(printed, here)


@dataclass(frozen=True)
class Agreement:
    """Number of a program's sixteen rows that agree with print, replayed in one of three ways.

    `how` is `one`, `two` (see `HOW`) or `as recorded`. `equal` is the number of cells of tables 3
    and 4 that equal the printed cells, by table. `near` is the number of heaps within one growth
    step of the printed heap.
    """

    program: str
    how: str
    equal: dict[int, int]
    near: int
    rows: int


def agreements(runs: Runs) -> list[Agreement]:
    """Return the agreement of every genuine program, pinned where its trace lacks bytes."""
    return [
        _agreement(program, how, runs)
        for program in GENUINE
        for how in ((*HOW, "as recorded") if program in MISSING_BYTES else ("as recorded",))
    ]


def agreement_table(runs: Runs) -> Table:
    """Return one row per program and way of replay."""
    ways = {"one": "with one object", "two": "with two objects", "as recorded": "as recorded"}
    rows: list[tuple[Value, ...]] = [
        (
            label(one.program),
            ways[one.how],
            MISSING_BYTES.get(one.program, 0) if one.how in HOW else 0,
            *one.equal.values(),
            one.near,
            one.rows,
        )
        for one in agreements(runs)
    ]
    columns = ("program", "replayed", "bytes added", "#3 equal", "#4 equal", "within a step", "of")
    note = (
        "Equal: as printed, to the last digit. Within a step: the heap differs from the printed "
        "heap by at most one growth step (4,096 bytes in the 4K rows, 512 in the 8K rows, 256 in "
        "the other rows). With two objects: the missing bytes are divided between two objects."
    )
    return Table("Cells of tables 3 and 4 that equal print", columns, rows, (note,))


def program_table(program: str, runs: Runs) -> Table:
    """Return one program's rows: measures in percent and heaps in bytes, published and here.

    If bytes were added, the last column is the difference of the heaps in growth steps. If our
    trace has more live bytes than the paper's, the table compares the wasted bytes instead of the
    heaps.
    """
    if program in MISSING_BYTES:
        return _pinned_table(program, runs)
    rows: list[tuple[Value, ...]] = []
    live = float(pinned_live(program).mean())
    for policy in table(4).rows:
        run, heap = runs[_way(program, policy, "as recorded")], printed_heap(program, policy)
        row = [*_measures(program, policy, [run]), heap.spell(), round(run.peak_heap_bytes)]
        rows.append(
            (*row, round(heap.middle - live), round(run.peak_heap_bytes - run.max_live_bytes))
        )
    columns = _columns(("#3", "#4", "heap, bytes", "above peak live"), ("published", "here"))
    return Table(f"{label(program)}, growth as printed", columns, rows)


def _pinned_table(program: str, runs: Runs) -> Table:
    rows: list[tuple[Value, ...]] = []
    for policy in table(4).rows:
        chosen = [runs[_way(program, policy, how)] for how in ("one", "as recorded")]
        heap, here = printed_heap(program, policy), chosen[0].peak_heap_bytes
        apart = 0.0 if here in heap else (here - heap.middle) / step(policy)
        row = [*_measures(program, policy, chosen), heap.spell()]
        row += [round(run.peak_heap_bytes) for run in chosen]
        rows.append((*row, Rounded(apart, 0, signed=True)))
    columns = _columns(("#3", "#4", "heap, bytes"), ("published", "pinned", "as recorded"))
    missing = f"{MISSING_BYTES[program]:,} bytes"
    title = f"{label(program)}, growth as printed; pinned: with {missing} more live throughout"
    return Table(title, (*columns, "steps"), rows)


def _columns(figures: Sequence[str], sources: Sequence[str]) -> tuple[str, ...]:
    return ("policy", *(f"{figure}\n{source}" for figure in figures for source in sources))


def _measures(program: str, policy: str, runs: Sequence[Run]) -> list[Value]:
    """Return a row's name and its measures, as printed and for each run."""
    row: list[Value] = [label(policy)]
    for number in NUMBERS:
        cell = table(number).cells[policy][program]
        values = (cell.value, *(percent(run, number) for run in runs))
        row += [Rounded(value, cell.decimals) for value in values]
    return row


def _way(program: str, policy: str, how: str) -> Job:
    return job(program, policy, how) if how in HOW else Job(program, AS_PRINTED.policies[policy])


def _agreement(program: str, how: str, runs: Runs) -> Agreement:
    measured = {policy: runs[_way(program, policy, how)] for policy in table(4).rows}
    equal = {
        number: sum(
            equals_print(percent(run, number), number, policy, program)
            for policy, run in measured.items()
        )
        for number in NUMBERS
    }
    near = sum(
        printed_heap(program, policy).distance(run.peak_heap_bytes) <= step(policy)
        for policy, run in measured.items()
    )
    return Agreement(program, how, equal, near, len(measured))


def equals_print(value: float, number: int, policy: str, program: str) -> bool:
    """Return whether a measure in percent equals the printed one after the paper's rounding."""
    cell = table(number).cells[policy][program]
    return round(value, cell.decimals) == cell.value
