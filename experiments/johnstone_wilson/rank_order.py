"""The order of the nine sequential fits, compared with the printed order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from experiments.johnstone_wilson.fragmentation import NUMBERS, Runs, comparison
from experiments.johnstone_wilson.growth_unit import SEQUENTIAL
from experiments.johnstone_wilson.programs import AVAILABLE, RECONSTRUCTED, heading
from experiments.johnstone_wilson.published import label
from experiments.johnstone_wilson.variants import AS_PRINTED
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

_SAMPLES: Final = 2000
_SEED: Final = 1998


@dataclass(frozen=True)
class Pair:
    """Two policies; the paper prints `better` below `worse`, in percent."""

    better: str
    worse: str
    printed: tuple[float, float]
    measured: tuple[float, float]


@dataclass(frozen=True)
class Order:
    """Pairs of sequential fits with different printed figures on one program.

    `same` is the number of pairs in the printed order here. `equal` are the pairs with equal
    figures here, `turned` the reversed pairs.
    """

    program: str
    number: int
    same: int
    equal: tuple[Pair, ...]
    turned: tuple[Pair, ...]

    @property
    def distinguished(self) -> int:
        """Number of pairs with different printed figures."""
        return self.same + len(self.equal) + len(self.turned)

    @property
    def kendall(self) -> float | None:
        """Kendall's tau (pairs in the printed order minus reversed pairs, over all), or None."""
        return (self.same - len(self.turned)) / self.distinguished if self.distinguished else None


@dataclass(frozen=True)
class Tau:
    """Agreement of an order with the printed order, and its bootstrap interval over rows.

    `value` is the number of pairs in the printed order minus the reversed pairs, over all pairs
    with different printed figures. `low` and `high` are the limits of its 95 % interval over
    samples of the rows, drawn with replacement (Efron 1979). All are None if no pair has different
    figures.
    """

    value: float | None
    low: float | None
    high: float | None

    @property
    def cells(self) -> tuple[Value, Value]:
        """Value and interval as two table cells."""
        if self.value is None:
            return None, "print tells no pair apart"
        return Rounded(self.value, 2), f"{self.low:.2f} to {self.high:.2f}"


def tau_of(printed: Mapping[str, float], measured: Mapping[str, float]) -> Tau:
    """Return the tau of the rows in `printed`, with its interval."""
    said = np.array([printed[row] for row in printed])
    here = np.array([measured[row] for row in printed])
    signs = np.sign(said[:, None] - said)
    agreed = signs * np.sign(here[:, None] - here)
    if not signs.any():
        return Tau(None, None, None)
    drawn = np.random.default_rng(_SEED).integers(len(said), size=(_SAMPLES, len(said)))
    pairs = drawn[:, :, None], drawn[:, None, :]
    counts = np.abs(signs[pairs]).sum(axis=(1, 2))
    taus = agreed[pairs].sum(axis=(1, 2))[counts > 0] / counts[counts > 0]
    low, high = np.quantile(taus, (0.025, 0.975))
    return Tau(float(agreed.sum() / np.abs(signs).sum()), float(low), float(high))


def all_rows_table(runs: Runs) -> Table:
    """Return the tau of all sixteen rows on every program, for tables 3 and 4."""
    rows: list[tuple[Value, ...]] = []
    for program in AVAILABLE:
        row: list[Value] = [heading(program).replace("\n", ", "), _ROLES.get(program, "tested")]
        for number in NUMBERS:
            compared = comparison(number, AS_PRINTED, runs)
            cells = compared.published.column(program)
            row += tau_of(
                {policy: cell.value for policy, cell in cells.items()},
                {policy: compared.measured[policy][program] for policy in cells},
            ).cells
        rows.append(tuple(row))
    columns = ("program", "was", *(f"#{n} {what}" for n in NUMBERS for what in ("tau", "interval")))
    note = (
        "Fitted: the rules of the list were first chosen on this program, or the program's trace "
        "was made from the figures. Fitted in part: the order of frees in an obstack was chosen on "
        "this program. Intervals: 95 % intervals of tau over random samples of the sixteen rows."
    )
    return Table("Order of all sixteen rows, growth as printed", columns, rows, (note,))


_ROLES: Final = {
    **dict.fromkeys(("p2c", "ghostscript", "espresso", *RECONSTRUCTED), "fitted"),
    "gcc": "fitted in part",
}


def orders(runs: Runs) -> list[Order]:
    """Return the order on every program, in tables 3 and 4, with growth as printed."""
    return [_order(program, number, runs) for number in NUMBERS for program in AVAILABLE]


def orders_table(runs: Runs) -> Table:
    """Return one row per program and table."""
    rows: list[tuple[Value, ...]] = []
    for order in orders(runs):
        tau = None if order.kendall is None else Rounded(order.kendall, 2)
        counts = (order.distinguished, order.same, len(order.equal), len(order.turned))
        exceptions = "; ".join(map(_spell, order.turned))
        name = heading(order.program).replace("\n", ", ")
        rows.append((f"#{order.number}", name, *counts, tau, exceptions))
    columns = (
        "measure",
        "program",
        "differ in print",
        "same",
        "equal",
        "reversed",
        "tau",
        "reversed pairs",
    )
    note = (
        "Differ in print: pairs of policies for which the paper prints different figures. "
        "Equal: pairs with equal figures here, because both heaps are at the same growth step. "
        "Reversed pairs: figures here, and the printed figures in parentheses."
    )
    return Table("Order of the nine sequential fits, growth as printed", columns, rows, (note,))


def _order(program: str, number: int, runs: Runs) -> Order:
    compared = comparison(number, AS_PRINTED, runs)
    printed = {policy: compared.published.cells[policy][program].value for policy in SEQUENTIAL}
    measured = {policy: compared.measured[policy][program] for policy in SEQUENTIAL}
    same, equal, turned = 0, [], []
    for pair in combinations(SEQUENTIAL, 2):
        better, worse = sorted(pair, key=printed.__getitem__)
        if printed[better] == printed[worse]:
            continue
        compared_pair = Pair(
            better,
            worse,
            (printed[better], printed[worse]),
            (measured[better], measured[worse]),
        )
        if measured[better] < measured[worse]:
            same += 1
        elif measured[better] == measured[worse]:
            equal.append(compared_pair)
        else:
            turned.append(compared_pair)
    return Order(program, number, same, tuple(equal), tuple(turned))


def _spell(pair: Pair) -> str:
    better, worse = (f"{value:.4g}" for value in pair.measured)
    low, high = (f"{value:g}" for value in pair.printed)
    return f"{label(pair.better)} {better} ({low}), {label(pair.worse)} {worse} ({high})"
