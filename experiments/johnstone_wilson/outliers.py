"""Espresso's two outliers of table 3, and the position of the bytes that would explain them.

First fit AO and next fit AO are printed as 25.3 and 27.2 percent where the other address-ordered
rows have 1.6. Our trace lacks bytes that were live in the paper's (`pinned`). Put in front of the
trace as one object they leave both rows at 1.7. Here that object is allocated before one event or
another instead, and never freed. A search found the positions where both measures equal the printed
ones (commit 79fc221f has it). The first position of each outlier is replayed under all sixteen
rows, to show its effect on the other rows.
"""

from __future__ import annotations

from typing import Final

from experiments.johnstone_wilson.alterations import Inserted
from experiments.johnstone_wilson.fragmentation import NUMBERS, Runs
from experiments.johnstone_wilson.heaps import printed_heap, printed_live_at_peak
from experiments.johnstone_wilson.pinned import MISSING_BYTES, equals_print
from experiments.johnstone_wilson.pinned import job as in_front
from experiments.johnstone_wilson.published import label, table
from experiments.johnstone_wilson.replays import Job, percent
from experiments.johnstone_wilson.variants import AS_PRINTED
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

PROGRAM: Final = "espresso"
ROWS: Final = ("first-fit-ao", "next-fit-ao")
REQUEST: Final = 372_552
"""The event whose request raises the break in the paper's runs: the second of 38,496 bytes."""
_STARTUP: Final = 128
"""Number of first events before which the object was tried,"""
_STRIDE: Final = 2000
"""and at every so-manieth from there to the request."""
PLACES: Final = (*range(_STARTUP), *range(_STARTUP, REQUEST, _STRIDE))
AT_REQUEST: Final = dict(zip(ROWS, (12, 22), strict=True))
"""At how many of `PLACES` the request raises the break to the printed heap, as the search found."""
REACHED: Final = {
    "first-fit-ao": tuple(range(86, 98)),
    "next-fit-ao": (
        84_128, 86_128, 118_128, 248_128, 250_128, 252_128, 256_128, 260_128, 292_128, 314_128,
        328_128, 332_128, 340_128, 342_128, 344_128, 346_128, 354_128, 356_128, 358_128, 362_128,
    ),
}  # fmt: skip
"""At which of these both measures are as printed to the end of the run."""
_SHOWN: Final = 3


def inserted(row: str, event: int) -> Job:
    """Return the simulation with the missing bytes at an event."""
    return Job(
        PROGRAM,
        AS_PRINTED.policies[row],
        alteration=Inserted(event, MISSING_BYTES[PROGRAM]),
    )


def recorded(row: str, *, after: bool) -> Job:
    """Return the simulation of the trace as recorded up to the request, or with it."""
    return Job(PROGRAM, AS_PRINTED.policies[row], upto=REQUEST + after)


CELLS: Final = len(AS_PRINTED.policies) * len(NUMBERS)
"""All that tables 3 and 4 have of Espresso."""

JOBS: Final = (
    *(recorded(row, after=after) for row in ROWS for after in (False, True)),
    *(inserted(row, reached[0]) for reached in REACHED.values() for row in AS_PRINTED.policies),
)


def heaps(row: str, runs: Runs) -> tuple[float, float]:
    """Return the row's heaps before and after the request, as recorded."""
    before, after = (runs[recorded(row, after=after)].peak_heap_bytes for after in (False, True))
    return before, after


def as_printed(row: str, job: Job, runs: Runs) -> bool:
    """Tell whether a run's peak heap, and the live bytes then, are what print stands for."""
    run = runs[job]
    heap, live = printed_heap(PROGRAM, row), printed_live_at_peak(PROGRAM, row)
    return run.peak_heap_bytes in heap and run.live_bytes_at_peak_heap in live


def equal_cells(outlier: str | None, runs: Runs) -> int:
    """Return the number of `CELLS` as printed with the missing bytes at an outlier's first place.

    Without an outlier they are in front of the trace.
    """
    replayed = {
        row: inserted(row, REACHED[outlier][0]) if outlier else in_front(PROGRAM, row)
        for row in AS_PRINTED.policies
    }
    return sum(
        equals_print(percent(runs[one], number), number, row, PROGRAM)
        for number in NUMBERS
        for row, one in replayed.items()
    )


def outliers_table(runs: Runs) -> Table:
    """Return a row an outlier: print, ours as recorded, ours where the bytes lie so."""
    rows: list[tuple[Value, ...]] = []
    for name, reached in REACHED.items():
        row: list[Value] = [label(name)]
        for number in (3, 4):
            cell = table(number).cells[name][PROGRAM]
            row.append(Rounded(cell.value, cell.decimals))
            jobs = Job(PROGRAM, AS_PRINTED.policies[name]), inserted(name, reached[0])
            row += [Rounded(percent(runs[job], number), 2) for job in jobs]
        tried = (len(PLACES), AT_REQUEST[name], len(reached), _events(reached))
        rows.append((*row, *tried, equal_cells(name, runs)))
    columns = (
        "policy",
        *(
            f"#{n}\n{what}"
            for n in (3, 4)
            for what in ("published", "as recorded", "at these places")
        ),
        "places\ntried",
        "printed heap\nat the request",
        "both as\nprinted",
        "events",
        f"of {CELLS} cells\nequal print",
    )
    note = (
        f"One object of {MISSING_BYTES[PROGRAM]:,} bytes, never freed, allocated before each of "
        f"the first {_STARTUP} events and of every {_STRIDE:,}th from there to event {REQUEST:,}. "
        "The last column is for the first place that gives the outlier."
    )
    return Table("Espresso: the missing bytes at other places", columns, rows, (note,))


def _events(places: tuple[int, ...]) -> str:
    """Spell places, a range if they are neighbours, else the first few of them."""
    if places[-1] - places[0] == len(places) - 1:
        return f"{places[0]} to {places[-1]}"
    return f"{'; '.join(f'{one:,}' for one in places[:_SHOWN])} and {len(places) - _SHOWN} more"
