"""Tables 3 and 4: the heap at the end of the trace, and the policy's share of it."""

from __future__ import annotations

from typing import Final

from experiments.comparison import Comparison
from experiments.gabber.measuring import PLAIN, VARIANTS, VARIED, Results
from experiments.gabber.paper import HEAP, MEGABYTE, PAPER, PERCENT, USER_TIME
from experiments.gabber.programs import EMACS, HUMMINGBIRD, RECORDED, heading
from experiments.gabber.runs import GabberRun, GabberRuns
from experiments.mallocs import at_hand, with_mechanism
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

NUMBERS: Final = {HUMMINGBIRD: 3, EMACS: 4}


def comparison(key: str, full: GabberRuns) -> Comparison:
    """Return table 3 or 4 beside the generated trace's figures, headers and tables included."""
    measured: dict[str, dict[str, float]] = {}
    for name in at_hand(PAPER):
        outcome = full.get((key, with_mechanism(name)))
        if outcome is not None:
            heap = outcome.final_heap / MEGABYTE
            measured[name] = {HEAP: heap, PERCENT: outcome.at_end}
    published = PAPER.table(NUMBERS[key])
    variant = f"{key}, generated, in full"
    return Comparison(published, measured, variant, PAPER.label, published.rows, (HEAP, PERCENT))


def policies_table(results: Results) -> Table:
    """Return fragmentation at the end of every trace, with mechanism and for the policy alone."""
    keys = (HUMMINGBIRD, EMACS, *RECORDED)
    labels = {
        text: f"{PAPER.label(name)}, {how}"
        for name in at_hand(PAPER)
        for text, how in ((with_mechanism(name), "as it is"), (name, "policy alone"))
    }
    labels |= {name: name for name in PLAIN}
    rows: list[tuple[Value, ...]] = [
        (label, *(_percent(results.outcomes.get((key, text))) for key in keys))
        for text, label in labels.items()
    ]
    title = "Fragmentation at the end, percent: allocators, their policies alone, plain policies"
    return Table(title, ("", *map(heading, keys)), rows)


def variants_table(results: Results) -> Table:
    """Return the fragmentation of PhK's malloc with one rule changed at a time."""
    rows: list[tuple[Value, ...]] = [
        (label, *(_percent(results.outcomes.get((key, text))) for key in VARIED))
        for label, text in VARIANTS.items()
    ]
    title = "Fragmentation at the end, percent: PhK's policy alone, one rule changed at a time"
    return Table(title, ("", *map(heading, VARIED)), rows)


def _percent(outcome: GabberRun | None) -> Value:
    return None if outcome is None else Rounded(outcome.at_end, 1)


def peaks_table(key: str, outcomes: GabberRuns, how: str) -> Table:
    """Return the peak heap and the final heap on a trace, which show the returned memory."""
    rows: list[tuple[Value, ...]] = []
    for name in (*at_hand(PAPER), *PLAIN):
        outcome = outcomes.get((key, name if name in PLAIN else with_mechanism(name)))
        if outcome is not None:
            megabytes = (
                Rounded(size / MEGABYTE, 1) for size in (outcome.peak_heap, outcome.final_heap)
            )
            returned = Rounded(100 * (1 - outcome.final_heap / outcome.peak_heap), 1)
            above = Rounded(100 * (outcome.peak_heap / outcome.peak_live - 1), 1)
            rows.append((PAPER.label(name), *megabytes, returned, above))
    columns = ("", "peak, MB", "end, MB", "% returned", "% peak above peak live")
    return Table(f"The heap at its peak and at the end; {key}, generated, {how}", columns, rows)


def work_table(full: GabberRuns) -> Table:
    """Return the printed processor time beside the blocks that searches visit in the full traces.

    The table also shows the time of the simulation. It differs from the allocator's time because an
    index replaces the walks.
    """
    rows: list[tuple[Value, ...]] = []
    for name in at_hand(PAPER):
        cells: list[Value] = [PAPER.label(name)]
        for key, number in NUMBERS.items():
            printed = PAPER.table(number).cells[name].get(USER_TIME)
            outcome = full.get((key, with_mechanism(name)))
            cells.append(None if printed is None else Rounded(printed.value, 0))
            cells += (
                [None, None, None]
                if outcome is None
                else [
                    Rounded(outcome.seconds, 1),
                    Rounded(outcome.visited_mean, 1),
                    outcome.visited_worst,
                ]
            )
        rows.append(tuple(cells))
    columns = [
        f"{what}\n{key}"
        for key in NUMBERS
        for what in (
            "user seconds, printed",
            "seconds, simulated",
            "visited, mean",
            "visited, maximum",
        )
    ]
    title = "Printed processor time, simulated time and visited blocks; generated traces in full"
    return Table(title, ("", *columns), rows)
