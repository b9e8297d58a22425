"""Evidence from the printed figures alone: their consistency, and the growth unit of the heaps."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.johnstone_wilson import consistency, growth_unit
from experiments.johnstone_wilson.consistency import Check
from experiments.johnstone_wilson.growth_unit import (
    DESCRIBED,
    GRIDS,
    PRINTED,
    ROWS_4K,
    ROWS_8K,
    ROWS_OTHER,
    TRUTHS,
    column_fit,
    pinned_live,
    row_fit,
)
from experiments.johnstone_wilson.programs import AVAILABLE, heading
from experiments.johnstone_wilson.published import label, programs, table
from experiments.johnstone_wilson.statistics import Described
from simalloc.report import Rounded, Table
from simalloc.report.table import Value


def consistency_table() -> Table:
    """Return the number of printed summaries that agree with the cells that they summarise."""
    kinds: dict[str, Sequence[Check]] = {
        "averages, as arithmetic means": consistency.averages(),
        "deviations, as those of a sample": consistency.deviations(),
        "deviations, as those of a population": consistency.deviations(sample=False),
        "figures of the prose": consistency.prose(),
    }
    rows = []
    for kind, checks in kinds.items():
        wrong = [check for check in checks if not check.agrees]
        named = wrong if len(wrong) < len(checks) else []
        exceptions = "; ".join(f"{c.where}: {c.printed.text}, not {c.computed:.4g}" for c in named)
        rows.append((kind, len(checks), len(checks) - len(wrong), exceptions))
    return Table("Printed figures recomputed", ("figures", "printed", "agree", "exceptions"), rows)


def grids_table() -> Table:
    """Return the distinct percentages of the 4K rows of table 4 that each growth unit explains."""
    rows: list[tuple[Value, ...]] = []
    for grid in GRIDS:
        fits = [column_fit(program, ROWS_4K, grid) for program in programs()]
        found, of = sum(fit.hits for fit in fits), sum(len(fit.values) for fit in fits)
        by_chance = growth_unit.chance(ROWS_4K, grid)
        rows.append(
            (
                grid,
                *(f"{fit.hits}/{len(fit.values)}" for fit in fits),
                f"{found}/{of}",
                Rounded(by_chance.mean, 1),
                by_chance.most,
                by_chance.as_many,
            )
        )
    draws = by_chance.draws
    columns = (
        "bytes",
        *map(heading, programs()),
        "all",
        "chance: mean",
        "maximum",
        "imitations as good",
    )
    note = (
        f"A row assumes heaps that are multiples of a unit, in bytes after division by 16. A cell "
        f"assumes the peak live bytes that explain the most percentages. It states how many of the "
        f"column's distinct percentages they explain. An imitation is the table with each heap "
        f"enlarged by a random multiple of {DESCRIBED} bytes (the text's unit) that is smaller "
        f"than the row's unit. Chance: mean and maximum of the explained percentages in {draws:,} "
        f"imitations. Imitations as good: imitations with at least as many explained percentages "
        f"as the printed table."
    )
    return Table("Growth units that explain the 4K rows of table 4", columns, rows, (note,))


def truths_table() -> Table:
    """Return, for each true growth unit, the percentages that steps of `PRINTED` bytes explain."""
    found = sum(column_fit(program, ROWS_4K, PRINTED).hits for program in programs())
    rows: list[tuple[Value, ...]] = []
    for truth in TRUTHS:
        by_chance = growth_unit.chance(ROWS_4K, PRINTED, truth=truth)
        fits = [column_fit(program, ROWS_4K, truth) for program in programs()]
        explains = f"{sum(fit.hits for fit in fits)}/{sum(len(fit.values) for fit in fits)}"
        mean = Rounded(by_chance.mean, 1)
        rows.append((truth, explains, mean, by_chance.most, by_chance.as_many))
    columns = ("true unit, bytes", "itself explains", "mean", "maximum", "imitations as good")
    note = (
        f"A row assumes heaps that are multiples of the true unit only. Itself explains: "
        f"number of printed percentages that the true unit explains. Mean, maximum: number of "
        f"percentages that steps of {PRINTED:,} bytes explain in {by_chance.draws:,} imitations "
        f"with the true unit. Imitations as good: imitations that reach {found}, as the printed "
        f"table does."
    )
    return Table(f"Could steps of {PRINTED:,} bytes be chance?", columns, rows, (note,))


def rows_table() -> Table:
    """Return the cells of other rows that each growth unit explains, with pinned live bytes."""
    grids = (256, 512, 1024, 4096)
    rows: list[tuple[Value, ...]] = []
    for policy in (*ROWS_8K, *ROWS_OTHER):
        fits = [row_fit(policy, grid) for grid in grids]
        cells = [f"{fit.hits}/{fit.cells}, chance {fit.expected:.1f}" for fit in fits]
        rows.append((label(policy), *cells))
    note = (
        "A cell counts only printed percentages that a heap of any size would match with a "
        "probability below one half. It states how many of these percentages agree with multiples "
        "of the unit, and how many would agree by chance if heaps had any size. The peak live "
        "bytes are the ones that the 4K rows determine."
    )
    return Table(
        "The other rows of table 4", ("row", *(f"{grid} bytes" for grid in grids)), rows, (note,)
    )


def live_table(described: Described) -> Table:
    """Return the peak live bytes that the 4K rows pin, beside the peaks of our traces."""
    rows: list[tuple[Value, ...]] = []
    for program in programs():
        live = pinned_live(program)
        row: list[Value] = [
            heading(program).replace("\n", ", "),
            table(1).cells[program]["max Kbytes"].text,
        ]
        row += [int(live[0]), int(live[-1])]
        if program in AVAILABLE:
            here = described[program].peak_bytes.amount
            row += [here, here - int(live[len(live) // 2])]
        rows.append((*row, *[None] * (6 - len(row))))
    columns = ("program", "table 1, Kbytes", "pinned from", "to", "here", "difference")
    return Table("Peak live bytes, from table 4 and here", columns, rows)
