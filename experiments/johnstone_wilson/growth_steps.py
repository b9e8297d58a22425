"""The 4K rows of table 4, counted in growth steps, which have the same size for every program.

A percentage of table 4 has two parts. The first is the number of steps by which a heap exceeds the
minimum that holds the peak live bytes; the policy causes this part. The second is the distance from
that peak to the next step, which is chance. A count of steps excludes the second part, so the
paper's traces and ours can be compared.
"""

from __future__ import annotations

from math import ceil

from experiments.johnstone_wilson.fragmentation import Runs
from experiments.johnstone_wilson.growth_unit import PRINTED, ROWS_4K, pinned_live
from experiments.johnstone_wilson.programs import AVAILABLE, heading
from experiments.johnstone_wilson.published import label, table
from experiments.johnstone_wilson.replays import Job
from experiments.johnstone_wilson.variants import AS_PRINTED
from simalloc.report import Table
from simalloc.report.table import Value


def printed_steps(program: str, policy: str) -> int:
    """Return the steps above the minimum, computed from the printed percentage.

    The heap is the number of steps nearest to the printed percentage of the live bytes that the 4K
    rows pin.
    """
    live = float(pinned_live(program).mean())
    heap = live * (1 + table(4).cells[policy][program].value / 100)
    return round(heap / PRINTED) - ceil(live / PRINTED)


def measured_steps(program: str, policy: str, runs: Runs) -> int:
    """Return the steps above the minimum in the run with growth as printed."""
    run = runs[Job(program, AS_PRINTED.policies[policy])]
    return round(run.peak_heap_bytes / PRINTED) - ceil(run.max_live_bytes / PRINTED)


def steps_table(runs: Runs) -> Table:
    """Return two lines per policy, printed and here, with one column per program."""
    rows: list[tuple[Value, ...]] = []
    for policy in ROWS_4K:
        printed = [printed_steps(program, policy) for program in AVAILABLE]
        measured = [measured_steps(program, policy, runs) for program in AVAILABLE]
        rows += [(f"{label(policy)}: published", *printed), ("here", *measured)]
    return Table(
        f"Table 4 in steps of {PRINTED:,} bytes above the minimum that holds the peak live bytes",
        ("", *map(heading, AVAILABLE)),
        rows,
    )
