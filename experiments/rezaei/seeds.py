"""The paper's statements on twenty draws of the traces, and on each real program."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from experiments.output import write_csv
from experiments.rezaei.claim import Claim
from experiments.rezaei.claims import claims
from experiments.rezaei.measuring import ALLOCATORS, RECORDED, SBT_WC, Results, measure_seed
from experiments.rezaei.metrics import nodes, nodes_with_free, wasted
from simalloc.heap import Run
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

SEEDS: Final = tuple(range(1, 21))
KEPT: Final = Path(__file__).with_name("seeds.csv")
"""Results of the seeds, written by `python -m experiments.rezaei --seeds`."""

FITS: Final = {"better": "better fit", "bf": "best fit"}
"""Possible interpretations of the paper's BF of a tree. The page uses the first one."""

OF_TABLE_2: Final = ("never freed", "live")
"""Statements about the paper's own table 2, which do not depend on any trace."""

FIGURES: Final[Mapping[str, Callable[[Run], float]]] = {
    "alloc.": nodes,
    "with dealloc.": nodes_with_free,
    "wasted %": wasted,
}

HOLDS: Final = "holds"
FAILS: Final = "fails"
DEPENDS: Final = "depends"

Kept = dict[tuple[int, str, str], float]
"""Results by seed, kind and name. If the kind is a fit, the value is 1 if the named statement
holds, else 0. If the kind is a figure, the value is its median over the eight traces for the named
allocator."""


def of_seed(seed: int, results: Results) -> Kept:
    """Return the kept results of one seed."""
    held = {
        (seed, fit, one.name): float(one.holds)
        for fit in FITS
        for one in claims(results.read_as(fit))
    }
    figures = {
        (seed, name, policy): round(results.median(policy, figure), 6)
        for name, figure in FIGURES.items()
        for policy in (*ALLOCATORS, *SBT_WC)
    }
    return held | figures


def measure_seeds(advance: Callable[[float], None]) -> Kept:
    """Draw and replay the eight traces with every seed; this takes some minutes."""
    found: Kept = {}
    for seed in SEEDS:
        found |= of_seed(seed, measure_seed(seed, lambda _: None))
        advance(1)
    return found


def keep(found: Kept) -> None:
    """Write the results to `KEPT`."""
    rows = [(*which, value) for which, value in found.items()]
    write_csv(Table("Seeds", ("seed", "kind", "name", "value"), rows), KEPT)


def kept() -> Kept:
    """Return the results stored in `KEPT`."""
    with KEPT.open(encoding="utf-8", newline="") as file:
        return {
            (int(row["seed"]), row["kind"], row["name"]): float(row["value"])
            for row in csv.DictReader(file)
        }


@dataclass(frozen=True)
class Standing:
    """A statement with its results.

    `claim` is the statement with seed 1's figures, `seeds` the number of seeds on which it holds,
    and `real` its results on real programs.
    """

    claim: Claim
    seeds: int
    real: Mapping[str, bool]

    @property
    def verdict(self) -> str:
        """`HOLDS` or `FAILS` if all seeds but one and all real programs agree, else `DEPENDS`."""
        if self.seeds >= len(SEEDS) - 1 and all(self.real.values()):
            return HOLDS
        return FAILS if self.seeds <= 1 and not any(self.real.values()) else DEPENDS


def standings(results: Results, found: Kept) -> list[Standing]:
    """Return every statement, for the fit that the results use."""
    real = {name: {one.name: one.holds for one in claims(results.over(name))} for name in RECORDED}
    return [
        Standing(
            one,
            sum(bool(found[seed, results.fit, one.name]) for seed in SEEDS),
            {} if one.name in OF_TABLE_2 else {name: held[one.name] for name, held in real.items()},
        )
        for one in claims(results)
    ]


def standings_table(results: Results, found: Kept) -> Table:
    """Return one row per statement."""
    rows: list[tuple[Value, ...]] = [
        (
            one.claim.section,
            one.claim.text,
            one.claim.here,
            one.seeds,
            *(_yes(one.real.get(name)) for name in RECORDED),
            one.verdict,
        )
        for one in standings(results, found)
    ]
    columns = ("section", "the paper", "seed 1", f"of {len(SEEDS)} seeds", *RECORDED, "verdict")
    return Table("The text's statements", columns, rows)


def _yes(held: bool | None) -> str | None:  # noqa: FBT001 - the value to spell
    return None if held is None else "yes" if held else "no"


def spreads_table(found: Kept, policies: Sequence[str]) -> Table:
    """Return one row per allocator: the minimum and maximum of three figures over the seeds."""
    rows: list[tuple[Value, ...]] = [
        (policy, *(end for kind in FIGURES for end in _ends(found, kind, policy)))
        for policy in policies
    ]
    columns = (
        "allocator",
        *(f"{kind} {end}" for kind in FIGURES for end in ("minimum", "maximum")),
    )
    return Table(f"Medians over eight traces, over {len(SEEDS)} seeds", columns, rows)


def _ends(found: Kept, kind: str, policy: str) -> tuple[Rounded, Rounded]:
    values = [found[seed, kind, policy] for seed in SEEDS]
    low, high = (Rounded(end, 1 if end < 100 else 0) for end in (min(values), max(values)))
    return low, high
