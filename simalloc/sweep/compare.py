"""Comparison of two sets of results."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import ResultsError
from simalloc.measure.bootstrap import mean_intervals, program_means
from simalloc.plural import counted
from simalloc.policy import base_name
from simalloc.report import Table
from simalloc.report.html import html
from simalloc.report.units import spell_share
from simalloc.sweep.measures import Measure, distinct
from simalloc.sweep.pivot import events_of, program_of
from simalloc.sweep.ranking import chances

if TYPE_CHECKING:
    from simalloc.sweep.results import Row

CONFIDENCE: Final = 0.95
_SHOWN_EXAMPLES: Final = 3


@dataclass(frozen=True, eq=False)
class Comparison:
    """Pairs of runs of two sets, A and B, that are equal apart from ignored properties.

    `pairs` contains the rows of A and B. `only_a` and `only_b` contain rows without a counterpart.
    """

    measure: Measure
    pairs: tuple[tuple[Row, Row], ...] = field(repr=False)
    only_a: tuple[Row, ...] = field(repr=False)
    only_b: tuple[Row, ...] = field(repr=False)

    @property
    def changed(self) -> list[tuple[Row, Row]]:
        """Pairs whose measure differs, the largest difference first."""
        differing = [pair for pair in self.pairs if self._difference(pair)]
        return sorted(differing, key=lambda pair: -abs(self._difference(pair)))

    def table(self, *, every: bool = False) -> Table:
        """Return a table with a row for each changed pair or, if `every`, for each pair."""
        shown = self.measure.shown
        two_policies = any(a["policy"] != b["policy"] for a, b in self.pairs)
        rows = [
            (
                a["trace"],
                a["policy"],
                *([b["policy"]] if two_policies else []),
                *(shown(self.measure.value(row)) for row in (a, b)),
                shown(self._difference((a, b))),
            )
            for a, b in (self.pairs if every else self.changed)
        ]
        policies = ("policy of A", "policy of B") if two_policies else ("policy",)
        columns = ("trace", *policies, "A", "B", "B - A")
        return Table(f"{self.measure.title}: A and B", columns, rows, self.notes())

    def notes(self) -> tuple[str, ...]:
        """Return notes on the compared runs, runs without a counterpart, and the mean change."""
        same = len(self.pairs) - len(self.changed)
        return (
            f"{counted(len(self.pairs), 'pair')} of runs, {same} with the same figure.",
            *(
                f"Only in {name}: {counted(len(rows), 'run')}, such as {_examples(rows)}."
                for name, rows in (("A", self.only_a), ("B", self.only_b))
                if rows
            ),
            *self._average_change(),
            *(
                f"{name} was computed by {', '.join(self._codes(side))}."
                for side, name in enumerate("AB")
            ),
        )

    def _codes(self, side: int) -> list[str]:
        return distinct(pair[side]["code"] for pair in self.pairs)

    def _difference(self, pair: tuple[Row, Row]) -> float:
        """Return B - A, or infinity if only one of them is defined, so that the pair is shown."""
        a, b = (self.measure.value(row) for row in pair)
        if np.isnan(a) and np.isnan(b):
            return 0.0
        return float(np.inf if np.isnan(a) or np.isnan(b) else b - a)

    def _by_trace(self) -> tuple[list[str], NDArray[np.float64]]:
        """Return the program of each trace, and the means of A and B, shape (2, traces)."""
        by_trace: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for a, b in self.pairs:
            values = self.measure.value(a), self.measure.value(b)
            if not np.isnan(values).any():
                by_trace.setdefault((program_of(a), events_of(a)), []).append(values)
        means = np.array([np.mean(values, axis=0) for values in by_trace.values()])
        return [program for program, _ in by_trace], means.T

    def _average_change(self) -> list[str]:
        programs, by_trace = self._by_trace()
        if len(set(programs)) < 2:
            return []
        means = program_means(by_trace, programs)
        low, high = mean_intervals(by_trace[1:] - by_trace[:1], programs, CONFIDENCE)[:, 0]
        shown = [self.measure.text(value) for value in ((means[1] - means[0]).mean(), low, high)]
        chance = chances(means)[0, 1]
        change = (
            f"On average over {counted(means.shape[1], 'program')}, B - A is {shown[0]} "
            f"({spell_share(CONFIDENCE)} interval {shown[1]} to {shown[2]}; the probability of a "
            f"difference as consistent by chance is {chance:.2g})."
        )
        return [change]

    def _repr_html_(self) -> str:
        return html(self.table())


def compare(
    a: Iterable[Row],
    b: Iterable[Row],
    measure: str | int = 4,
    *,
    of: str = "mapped",
    ignore: Collection[str] = ("code",),
) -> Comparison:
    """Pair the runs of `a` and `b` that are equal apart from the properties in `ignore`.

    `measure` and `of` are the arguments of `Measure.of`. The properties of a run are its trace,
    policy, parameters, scale, realloc rule and code. `ignore` accepts the name of a property or of
    a parameter (`code`, `scale`, `growth` ...), `parameters` for all parameters, and `policy` for
    the policy with its parameters. Raises `ResultsError` for a name that no run has, and if two
    runs of one side become equal.
    """
    a, b = list(a), list(b)
    _check_names(ignore, (*a, *b))
    rows_a, rows_b = _index(a, ignore, "A"), _index(b, ignore, "B")
    return Comparison(
        Measure.of(measure, of),
        tuple((row, rows_b[key]) for key, row in rows_a.items() if key in rows_b),
        tuple(row for key, row in rows_a.items() if key not in rows_b),
        tuple(row for key, row in rows_b.items() if key not in rows_a),
    )


def _check_names(ignore: Collection[str], rows: Iterable[Row]) -> None:
    known = {"code", "parameters"}.union(*map(_identity, rows))
    unknown = sorted(set(ignore) - known)
    if unknown:
        raise ResultsError(
            f"no run has {unknown[0]!r}, so it cannot be ignored; choose among "
            f"{', '.join(sorted(known))}"
        )


def _index(rows: Iterable[Row], ignore: Collection[str], side: str) -> dict[Hashable, Row]:
    found: dict[Hashable, Row] = {}
    for row in rows:
        if row["error"] is not None:
            continue
        parts = _identity(row)
        if "policy" in ignore or "parameters" in ignore:
            parts = {name: part for name, part in parts.items() if name not in row["parameters"]}
        key = frozenset((name, part) for name, part in parts.items() if name not in ignore)
        if key in found:
            twin = _identity(found[key])
            differing = sorted(name for name, part in parts.items() if twin[name] != part)
            raise ResultsError(
                f"{side} has several runs of {row['policy']} on {row['trace']} that differ only "
                f"in {', '.join(differing)}, which is ignored; choose one of them with --in-a "
                "or --in-b"
            )
        found[key] = row
    return found


def _identity(row: Row) -> dict[str, Hashable]:
    """Return all properties that distinguish runs, by name."""
    fixed = {name: row[name] for name in ("scale", "realloc", "code")}
    return {
        "trace_sha256": events_of(row),
        **fixed,
        "policy": base_name(row["policy"]),
        **row["parameters"],
    }


def _examples(rows: Collection[Row]) -> str:
    names = [f"{row['policy']} on {row['trace']}" for row in list(rows)[:_SHOWN_EXAMPLES]]
    return ", ".join(names)
