"""Espresso's two outliers of table 3, and where the bytes would have to lie that make them.

First fit AO and next fit AO are printed as 25.3 and 27.2 percent where the other address-ordered
rows have 1.6. Our trace lacks bytes that were live in the paper's (`pinned`). Put in front of the
trace as one object they leave both rows at 1.7. Here that object is allocated before one event
after another instead, and never freed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from experiments.johnstone_wilson.alterations import Inserted
from experiments.johnstone_wilson.heaps import printed_heap, printed_live_at_peak
from experiments.johnstone_wilson.pinned import MISSING_BYTES
from experiments.johnstone_wilson.published import label, table
from experiments.johnstone_wilson.replays import Job, percent
from experiments.johnstone_wilson.variants import AS_PRINTED
from simalloc.report import Rounded, Table

if TYPE_CHECKING:
    from experiments.johnstone_wilson.fragmentation import Runs
    from simalloc.report.table import Value

PROGRAM: Final = "espresso"
ROWS: Final = ("first-fit-ao", "next-fit-ao")
REQUEST: Final = 372_552
"""The event whose request raises the break in the paper's runs: the second of 38,496 bytes."""
STARTUP: Final = 128
"""At every one of so many first events the object is tried,"""
STRIDE: Final = 2000
"""and at every so-manieth from there to the request."""
_SHOWN: Final = 3
PLACES: Final = (*range(STARTUP), *range(STARTUP, REQUEST, STRIDE))


def inserted(row: str, event: int, *, whole: bool) -> Job:
    """Return the simulation with the missing bytes at an event: whole, or up to the request."""
    return Job(
        PROGRAM,
        AS_PRINTED.policies[row],
        alteration=Inserted(event, MISSING_BYTES[PROGRAM]),
        upto=None if whole else REQUEST + 1,
    )


def _recorded(row: str, ends: int) -> Job:
    """Return the simulation of the trace as recorded up to the request, or with it."""
    return Job(PROGRAM, AS_PRINTED.policies[row], upto=REQUEST + ends)


JOBS: Final = (
    *(inserted(row, event, whole=False) for row in ROWS for event in PLACES),
    *(
        Job(PROGRAM, AS_PRINTED.policies[row], upto=REQUEST + ends)
        for row in ROWS
        for ends in (0, 1)
    ),
)


def second_jobs(runs: Runs) -> list[Job]:
    """Return the whole simulations of the places at which the request makes the printed heap."""
    return [
        inserted(row, event, whole=True)
        for row in ROWS
        for event in PLACES
        if _as_printed(row, inserted(row, event, whole=False), runs)
    ]


@dataclass(frozen=True)
class Outlier:
    """One of the two rows. `heaps` are those before and after the request, as recorded.

    Of the `tried` places `at_request` make the request raise the break to the printed heap, at the
    printed live bytes; at `reached` both measures are then as printed to the end of the run.
    """

    row: str
    heaps: tuple[float, float]
    tried: int
    at_request: int
    reached: tuple[int, ...]
    third: float
    fourth: float

    @property
    def reached_count(self) -> int:
        """At how many places both measures are as printed."""
        return len(self.reached)

    @property
    def events(self) -> str:
        """The places at which the row is reached, neighbours as a range, the first few of them."""
        parts: list[list[int]] = []
        for place in self.reached:
            if parts and place == parts[-1][-1] + 1:
                parts[-1].append(place)
            else:
                parts.append([place])
        spelled = [" to ".join(f"{end:,}" for end in sorted({p[0], p[-1]})) for p in parts]
        more = f" and {len(spelled) - _SHOWN} more" if len(spelled) > _SHOWN else ""
        return f"{'; '.join(spelled[:_SHOWN])}{more}"


def outliers(runs: Runs) -> list[Outlier]:
    """Return both rows, with the measures at the first place that reaches them."""
    found = []
    for row in ROWS:
        candidates = [
            event for event in PLACES if _as_printed(row, inserted(row, event, whole=False), runs)
        ]
        reached = [e for e in candidates if _as_printed(row, inserted(row, e, whole=True), runs)]
        first = runs[inserted(row, reached[0], whole=True)]
        before, after = (runs[_recorded(row, ends)].peak_heap_bytes for ends in (0, 1))
        found.append(
            Outlier(
                row,
                (before, after),
                len(PLACES),
                len(candidates),
                tuple(reached),
                percent(first, 3),
                percent(first, 4),
            )
        )
    return found


def outliers_table(runs: Runs) -> Table:
    """Return a row an outlier: print, ours as recorded, ours where the bytes lie so."""
    rows: list[tuple[Value, ...]] = []
    for one in outliers(runs):
        recorded = runs[Job(PROGRAM, AS_PRINTED.policies[one.row])]
        row: list[Value] = [label(one.row)]
        for number, so in ((3, one.third), (4, one.fourth)):
            cell = table(number).cells[one.row][PROGRAM]
            row.append(Rounded(cell.value, cell.decimals))
            row += [Rounded(value, 2) for value in (percent(recorded, number), so)]
        rows.append((*row, one.tried, one.at_request, len(one.reached), one.events))
    columns = (
        "policy",
        *(f"#{n}\n{what}" for n in (3, 4) for what in ("published", "as recorded", "so placed")),
        "places\ntried",
        "printed heap\nat the request",
        "both as\nprinted",
        "events",
    )
    note = (
        f"One object of {MISSING_BYTES[PROGRAM]:,} bytes, never freed, allocated before each of "
        f"the first {STARTUP} events and of every {STRIDE:,}th from there to event {REQUEST:,}."
    )
    return Table("Espresso: where the missing bytes lie", columns, rows, (note,))


def _as_printed(row: str, job: Job, runs: Runs) -> bool:
    """Tell whether a run's peak heap, and the live bytes then, are what print stands for."""
    run = runs[job]
    heap, live = printed_heap(PROGRAM, row), printed_live_at_peak(PROGRAM, row)
    return run.peak_heap_bytes in heap and run.live_bytes_at_peak_heap in live
