"""Table and sentence on the processes of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simalloc.plural import counted
from simalloc.report.table import Rounded, Table, Value
from simalloc.report.units import spell_percent
from simalloc.sizes import spell_bytes

if TYPE_CHECKING:
    from simalloc.advice.process_tree import ProcessTree


def process_tree_verdict(tree: ProcessTree) -> str:
    """Return a sentence on the peak of all processes together, and on its largest part."""
    resident = tree.resident
    place = int(resident.argmax())
    most = max(tree.processes, key=lambda one: float(one.resident[place]))
    share = float(most.resident[place]) / max(float(resident[place]), 1.0)
    number = len(tree.processes)
    heaps = (
        "heap of 1 process peaks" if number == 1 else f"heaps of {number:,} processes together peak"
    )
    return (
        f"The {heaps} at {spell_bytes(float(resident[place]))} resident, "
        f"{float(tree.seconds[place]):,.2f} s after the start; "
        f"{spell_bytes(float(tree.live[place]))} are live at that time. {most.name} (process "
        f"{most.number}) accounts for {spell_percent(share)} of this peak."
    )


def process_tree_table(tree: ProcessTree) -> Table:
    """Return a table with a row per large process, the largest first, and a row for all others."""
    place = int(tree.resident.argmax())
    large = tree.large
    rows: list[Sequence[Value]] = [
        (
            one.name,
            str(one.number),
            Rounded(one.begins, 2),
            Rounded(max(0.0, one.ends - one.begins), 2),
            len(one.trace),
            spell_bytes(float(one.live.max())),
            spell_bytes(float(one.resident.max())),
            spell_bytes(float(one.resident[place])),
        )
        for one in large
    ]
    rest = [one for one in tree.processes if one not in large]
    if rest:
        rows.append(
            (
                counted(len(rest), "small process", "small processes"), "", None, None,
                sum(len(one.trace) for one in rest),
                "", "", spell_bytes(float(sum(one.resident[place] for one in rest))),
            )
        )  # fmt: skip
    columns = (
        "process", "number", "start, s", "seconds", "events", "peak live", "peak resident",
        "resident at the total peak",
    )  # fmt: skip
    notes = (
        "Each process is replayed under the model of its own malloc.",
        "Small processes never reach 1 % of the total peak.",
    )
    return Table("Processes", columns, rows, notes)
