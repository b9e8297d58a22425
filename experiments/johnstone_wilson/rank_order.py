"""Whether the nine sequential fits come out in the order that the paper prints."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from experiments.johnstone_wilson.fragmentation import NUMBERS, comparison
from experiments.johnstone_wilson.growth_unit import SEQUENTIAL
from experiments.johnstone_wilson.programs import AVAILABLE, heading
from experiments.johnstone_wilson.published import label
from experiments.johnstone_wilson.variants import AS_PRINTED
from simalloc.report import Rounded, Table

if TYPE_CHECKING:
    from experiments.johnstone_wilson.fragmentation import Runs
    from simalloc.report.table import Value


@dataclass(frozen=True)
class Pair:
    """Two policies of which the paper prints `better` below `worse`, in percent."""

    better: str
    worse: str
    printed: tuple[float, float]
    measured: tuple[float, float]


@dataclass(frozen=True)
class Order:
    """The pairs of sequential fits that the paper tells apart on one program.

    `same` are in the same order here, `equal` come out equal, `turned` the other way round.
    """

    program: str
    number: int
    same: int
    equal: tuple[Pair, ...]
    turned: tuple[Pair, ...]

    @property
    def told_apart(self) -> int:
        """How many pairs the paper prints different figures for."""
        return self.same + len(self.equal) + len(self.turned)

    @property
    def kendall(self) -> float | None:
        """Pairs in order less pairs turned, over all pairs that the paper tells apart."""
        return (self.same - len(self.turned)) / self.told_apart if self.told_apart else None


def orders(runs: Runs) -> list[Order]:
    """Return the order on every program, in tables 3 and 4, with growth as printed."""
    return [_order(program, number, runs) for number in NUMBERS for program in AVAILABLE]


def orders_table(runs: Runs) -> Table:
    """Return a row a program and table."""
    rows: list[tuple[Value, ...]] = []
    for order in orders(runs):
        tau = None if order.kendall is None else Rounded(order.kendall, 2)
        counts = (order.told_apart, order.same, len(order.equal), len(order.turned))
        exceptions = "; ".join(map(_spell, order.turned))
        name = heading(order.program).replace("\n", ", ")
        rows.append((f"#{order.number}", name, *counts, tau, exceptions))
    columns = ("measure", "program", "told apart", "same", "equal", "turned", "tau", "turned pairs")
    note = (
        "Told apart: pairs of policies for which the paper prints different figures. "
        "Equal: those that come out equal here, with the heap at the same growth step."
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
        told = Pair(
            better,
            worse,
            (printed[better], printed[worse]),
            (measured[better], measured[worse]),
        )
        if measured[better] < measured[worse]:
            same += 1
        elif measured[better] == measured[worse]:
            equal.append(told)
        else:
            turned.append(told)
    return Order(program, number, same, tuple(equal), tuple(turned))


def _spell(pair: Pair) -> str:
    better, worse = (f"{value:.4g}" for value in pair.measured)
    low, high = (f"{value:g}" for value in pair.printed)
    return f"{label(pair.better)} {better} ({low}), {label(pair.worse)} {worse} ({high})"
