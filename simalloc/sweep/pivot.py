"""Table of one measure by policy and trace, with averages and standard deviations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import ResultsError
from simalloc.plural import counted
from simalloc.report import Table
from simalloc.report.html import html
from simalloc.report.table import Value, frame
from simalloc.sweep.measures import Measure
from simalloc.sweep.tables import provenance, varying

if TYPE_CHECKING:
    import pandas as pd

    from simalloc.sweep.results import Row

AVERAGE: Final = "Average"
DEVIATION: Final = "Std Dev"
_OF_REFUSALS: Final = ("refused", "first_refused_event", "largest_free_bytes_when_refused")
"""Measures that are defined even if a refused request ended the run."""
DIGITS: Final = 12
"""Number of digits of a trace's SHA-256 that tables show."""


class Setting(NamedTuple):
    """Settings of a row of a pivot: the options of its replays, and the code version."""

    policy: str
    scale: int
    realloc: str
    code: str


class Column(NamedTuple):
    """Trace of a column of a pivot, and the program of this trace."""

    trace: str
    sha256: str
    program: str

    @property
    def label(self) -> str:
        """Name of the trace with the beginning of its digest."""
        return f"{self.trace}@{self.sha256[:DIGITS]}"


@dataclass(frozen=True, eq=False)
class Pivot:
    """A measure by setting (rows) and trace (columns).

    `values` (float64, settings x traces) is nan if no run has the figure or if a refused request
    ended the run. `incomplete` has one entry per setting: 2 if a refused request ended a run, else
    1 if a run refused requests, else 0. In every order by figures, settings with a higher entry
    come later.
    """

    measure: Measure
    settings: tuple[Setting, ...]
    traces: tuple[Column, ...]
    values: NDArray[np.float64] = field(repr=False)
    incomplete: tuple[int, ...]

    @property
    def averages(self) -> NDArray[np.float64]:
        """Arithmetic mean of each row, or nan for a row with gaps."""
        return np.asarray(self.values.mean(axis=1))

    @property
    def deviations(self) -> NDArray[np.float64]:
        """Sample standard deviation (n - 1) of each row, or nan for a row with gaps.

        Tables 3 and 4 of Johnstone & Wilson agree with this definition to the last printed digit.
        """
        return _deviations(self.values)

    def sorted_by(self, name: str) -> Pivot:
        """Return the pivot in order of `average`, `policy` or a trace, with gaps last.

        The best value comes first: the highest for the largest free block, else the lowest. Raises
        `ResultsError` for an unknown column.
        """
        if name == "policy":
            order = sorted(range(len(self.settings)), key=lambda row: self.settings[row])
        else:
            keys = self.measure.order(self._column(name)), np.array(self.incomplete)
            order = np.lexsort(keys).tolist()
        return self.reordered(order)

    def reordered(self, order: Sequence[int]) -> Pivot:
        """Return the pivot with the rows `order`, which may be some of its rows."""
        settings = tuple(self.settings[row] for row in order)
        incomplete = tuple(self.incomplete[row] for row in order)
        return Pivot(self.measure, settings, self.traces, self.values[order], incomplete)

    def complete(self) -> Pivot:
        """Return the pivot without empty rows, and then without columns that have gaps."""
        rows = np.flatnonzero(~np.isnan(self.values).all(axis=1)).tolist()
        columns = np.flatnonzero(~np.isnan(self.values[rows]).any(axis=0)).tolist()
        return Pivot(
            self.measure,
            tuple(self.settings[row] for row in rows),
            tuple(self.traces[column] for column in columns),
            self.values[np.ix_(rows, columns)],
            tuple(self.incomplete[row] for row in rows),
        )

    def table(self, *, full: bool = False) -> Table:
        """Return the pivot in the format of Johnstone & Wilson's tables, with provenance as notes.

        If `full`, the table is for other programs: every row and column states its origin,
        fragmentation is a fraction, and the rows of averages are left out.
        """
        shown = list(Setting._fields) if full else self.varying()
        labels = [column.label for column in self.traces] if full else self.labels()
        cells = _plain if full else self._cells
        rows = [
            (*(getattr(setting, name) for name in shown), *cells([*values, mean, deviation]))
            for setting, values, mean, deviation in zip(
                self.settings, self.values, self.averages, self.deviations, strict=True
            )
        ]
        if not full and len(rows) > 1:
            empty = [None] * (len(shown) - 1)
            for label, summary in (
                (AVERAGE, self.values.mean(axis=0)),
                (DEVIATION, _deviations(self.values.T)),
            ):
                rows.append((label, *empty, *self._cells([*summary, np.nan, np.nan])))
        columns = (*shown, *labels, AVERAGE, DEVIATION)
        title = self.measure.column if full else self.measure.title
        return Table(title, columns, rows, () if full else self.notes())

    def varying(self) -> list[str]:
        """Return the columns that distinguish the rows: the policy, and all settings that vary."""
        rows = [setting._asdict() for setting in self.settings]
        return ["policy", *varying(rows, Setting._fields[1:])]

    def labels(self) -> list[str]:
        """Return the names of the traces, with digests for traces of the same name."""
        names = [column.trace for column in self.traces]
        return [
            column.label if names.count(column.trace) > 1 else column.trace
            for column in self.traces
        ]

    def notes(self) -> tuple[str, ...]:
        """Return notes on the source of the numbers, and on missing runs."""
        rows = [setting._asdict() for setting in self.settings]
        shared = provenance(rows, Setting._fields[1:])
        gaps = int(np.isnan(self.values).sum())
        empty = counted(gaps, "cell is", "cells are")
        return (
            f"Traces: {', '.join(column.label for column in self.traces)} (name and SHA-256).",
            *([shared] if shared else ()),
            *([f"{empty} empty, and so are averages over such cells."] if gaps else ()),
            *self._refusal_notes(),
        )

    def _refusal_notes(self) -> Iterator[str]:
        words = {
            2: "A refused request ended a run of {}: its cell is empty.",
            1: "Requests were refused under {}.",
        }
        for kind, sentence in words.items():
            pairs = zip(self.settings, self.incomplete, strict=True)
            names = dict.fromkeys(setting.policy for setting, has in pairs if has == kind)
            if names:
                yield sentence.format(", ".join(names))

    def to_pandas(self) -> pd.DataFrame:
        """Return the full table; needs pandas (the `frame` extra)."""
        return frame(self.table(full=True))

    def _repr_html_(self) -> str:
        return html(self.table())

    def _column(self, name: str) -> NDArray[np.float64]:
        if name.lower() == AVERAGE.lower():
            return self.averages
        labels = self.labels()
        if name not in labels:
            raise ResultsError(f"cannot sort by {name!r}; choose one of average, policy, "
                               f"{', '.join(labels)}")  # fmt: skip
        return self.values[:, labels.index(name)]

    def _cells(self, values: Iterable[float]) -> list[Value]:
        return [self.measure.shown(float(value)) for value in values]


def _plain(values: Iterable[float]) -> list[Value]:
    return [None if np.isnan(value) else float(value) for value in values]


def pivot(rows: Sequence[Row], measure: str | int, of: str = "mapped") -> Pivot:
    """Return a measure of runs by setting and trace.

    `measure` and `of` are the arguments of `Measure.of`. Raises `ResultsError` if `rows` is empty.
    """
    if not rows:
        raise ResultsError("no run is left to show; loosen the conditions")
    chosen = Measure.of(measure, of)
    first = {events_of(row): row for row in reversed(rows)}
    traces = sorted(Column(row["trace"], sha256, program_of(row)) for sha256, row in first.items())
    incomplete = _incomplete(rows)
    settings = sorted(incomplete, key=lambda setting: (incomplete[setting], setting))
    values = np.full((len(settings), len(traces)), np.nan)
    _check_columns(rows)
    row_of = {setting: place for place, setting in enumerate(settings)}
    column_of = {column.sha256: place for place, column in enumerate(traces)}
    for row in rows:
        if not row.get("stopped") or chosen.column in _OF_REFUSALS:
            values[row_of[_setting(row)], column_of[events_of(row)]] = chosen.value(row)
    kinds = tuple(incomplete[setting] for setting in settings)
    return Pivot(chosen, tuple(settings), tuple(traces), values, kinds)


def _incomplete(rows: Sequence[Row]) -> dict[Setting, int]:
    """Return `Pivot.incomplete` by setting."""
    kinds: dict[Setting, int] = {}
    for row in rows:
        kind = 2 if row.get("stopped") else 1 if row.get("refused") else 0
        kinds[_setting(row)] = max(kinds.get(_setting(row), 0), kind)
    return kinds


def events_of(row: Row) -> str:
    """Return the digest of the events of a run's trace, which excludes optional columns."""
    return str(row.get("events_sha256") or row["trace_sha256"])


def program_of(row: Row) -> str:
    """Return the program of a run's trace, or the trace in files that do not state the program."""
    return str(row.get("program") or row["trace"])


def _check_columns(rows: Sequence[Row]) -> None:
    """Raise `ResultsError` if two runs of one setting have different columns of the same events."""
    found: dict[tuple[Setting, str], Row] = {}
    for row in rows:
        twin = found.setdefault((_setting(row), events_of(row)), row)
        if twin["trace_sha256"] != row["trace_sha256"]:
            raise ResultsError(
                f"{twin['trace']} and {row['trace']} have the same events, but not the same "
                f"columns, on which {row['policy']} depends; choose one of them with --where"
            )


def _setting(row: Row) -> Setting:
    return Setting(*(row[name] for name in Setting._fields))


def _deviations(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation of each row, or nan with a single value."""
    if values.shape[1] < 2:
        return np.full(len(values), np.nan)
    return np.asarray(values.std(axis=1, ddof=1))
