"""The results of sweeps in Python."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, Self, overload

from simalloc.errors import ResultsError, SimallocError
from simalloc.heap import Timeline
from simalloc.heap.quantity import Quantity
from simalloc.measure.bootstrap import RESAMPLES
from simalloc.plural import counted
from simalloc.policy import base_name
from simalloc.report import Table
from simalloc.report.html import html
from simalloc.report.table import frame_of_runs
from simalloc.sizes import parse_size
from simalloc.sweep.pivot import Pivot, pivot
from simalloc.sweep.ranking import Ranking, rank
from simalloc.sweep.store import Store
from simalloc.sweep.tables import records, records_table, runs_table
from simalloc.sweep.task import Key, key_of

if TYPE_CHECKING:
    import pandas as pd


Row = Mapping[str, Any]

LATEST: Final = "latest"
"""Value of `code` in `where`: the version of the code in a policy's latest run."""

_ORDER: Final = ("trace", "policy", "scale", "realloc", "code")


class Results(Sequence[Row]):
    """An immutable sequence of runs as rows, ordered by trace and policy.

    A row is a mapping. It has the key of the run (`trace_sha256`, `policy`, `scale`, `realloc`,
    `code`), `trace`, `parameters` (a mapping), `finished`, `host` and `error` (None unless the run
    failed). It also has every figure that `simalloc run --format csv` prints, or None for a missing
    figure. A notebook displays the results as a table.

    Examples
    --------
    >>> results = simalloc.Results.read("results.sqlite")
    >>> results.pivot("peak_heap_bytes")
    """

    def __init__(self, rows: Iterable[Row], path: str | PathLike[str] | None = None) -> None:
        self._path = path
        self._rows = tuple(sorted(rows, key=lambda row: [row[name] for name in _ORDER]))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Return the results in a file.

        Parameters
        ----------
        path : str or path
            A file that `simalloc sweep` or `run_sweep` wrote.

        Returns
        -------
        Results

        Raises
        ------
        ResultsError
            If the file is damaged or is not a result file.
        """
        with Store(path) as store:
            return cls(store.rows(), path)

    def of_keys(self, keys: Container[Key]) -> Results:
        """Return the runs with these keys."""
        return self._only(row for row in self._rows if key_of(row) in keys)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Results: ...
    def __getitem__(self, place: int | slice) -> Row | Results:
        return self._only(self._rows[place]) if isinstance(place, slice) else self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<Results: {counted(len(self), 'run')}, {len(self.failed)} failed>"

    @property
    def failed(self) -> Results:
        """Runs that ended with an error."""
        return self._only(row for row in self._rows if row["error"] is not None)

    @property
    def succeeded(self) -> Results:
        """Runs that did not fail."""
        return self._only(row for row in self._rows if row["error"] is None)

    def where(self, **conditions: object) -> Results:
        """Return the runs that meet all conditions.

        Parameters
        ----------
        **conditions
            Values of columns or of parameters of policies: `trace="gcc"`, `scale=16`,
            `growth="64K"`. Text may be a pattern such as `policy="first-fit-*"`. `code="latest"` is
            the version of the code in each policy's latest run.

        Returns
        -------
        Results

        Raises
        ------
        ResultsError
            If no row has a column or a parameter of that name.
        """
        rows = self._rows
        for name, wanted in conditions.items():
            if rows and not any(name in row or name in row["parameters"] for row in rows):
                raise ResultsError(
                    f"the results have no column or parameter {name!r}; --format csv shows them all"
                )
            if (name, wanted) == ("code", LATEST):
                latest = self._latest()
                rows = tuple(row for row in rows if row["code"] == latest[base_name(row["policy"])])
            else:
                rows = tuple(row for row in rows if _meets(row, name, wanted))
        return self._only(rows)

    def pivot(self, measure: str | int = 4, *, of: Quantity = "mapped") -> Pivot:
        """Return a table of one measure, with a row for each policy and a column for each trace.

        Parameters
        ----------
        measure : int or str, default 4
            1 to 4 for a measure of fragmentation, the name of a numeric column, or a quantity:
            `"mapped"` and `"resident"` are the peak, and `"largest-free"` is the minimum.
        of : {"mapped", "resident", "largest-free"}, default "mapped"
            Bytes whose fragmentation is measured.

        Returns
        -------
        Pivot
        """
        return pivot(self.succeeded, measure, of)

    def rank(
        self,
        measure: str | int = 4,
        *,
        of: Quantity = "mapped",
        confidence: float = 0.95,
        resamples: int = RESAMPLES,
    ) -> Ranking:
        """Return the policies from best to worst by their average over the traces.

        Parameters
        ----------
        measure : int or str, default 4
            Measure, as for `pivot`.
        of : {"mapped", "resident", "largest-free"}, default "mapped"
            Bytes whose fragmentation is measured.
        confidence : float, default 0.95
            Confidence level of the intervals, between 0 and 1.
        resamples : int, default 10000
            Number of bootstrap samples for the intervals.

        Returns
        -------
        Ranking
            Averages with intervals, and the policies that are not significantly different.

        Raises
        ------
        ResultsError
            If fewer than two traces have a figure for every policy.
        """
        return rank(self.pivot(measure, of=of), confidence=confidence, resamples=resamples)

    def timeline(self, row: Row) -> Timeline | None:
        """Return the timeline of a run, or None if the sweep did not keep it.

        Raises `ResultsError` if the results were not read from a file.
        """
        if self._path is None:
            raise ResultsError("these results were not read from a file, so they have no timelines")
        with Store(self._path) as store:
            return store.timeline(row["id"])

    def table(self, of: Quantity = "mapped") -> Table:
        """Return a table with one row per run and the measures of a quantity."""
        return runs_table(self, of)

    def records_table(self) -> Table:
        """Return a table with one row per run and all columns."""
        return records_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with one row per run, every figure and every policy parameter.

        Returns
        -------
        pandas.DataFrame
            Fragmentation is a fraction (`fragmentation_1` to `fragmentation_4`).

        Raises
        ------
        SimallocError
            If pandas is not installed (extra `frame`).
        """
        found = records(self)
        return frame_of_runs((each, each.pop("parameters")) for each in found)

    def _only(self, rows: Iterable[Row]) -> Results:
        return Results(rows, self._path)

    def _latest(self) -> dict[str, str]:
        """Return the version of the code in each policy's latest run."""
        by_time = sorted(self._rows, key=lambda row: str(row["finished"]))
        return {base_name(row["policy"]): row["code"] for row in by_time}

    def _repr_html_(self) -> str:
        return html(self.table())


def _meets(row: Row, name: str, wanted: object) -> bool:
    value = row[name] if name in row else row["parameters"].get(name)
    if isinstance(value, int) and isinstance(wanted, str):
        try:
            return value == parse_size(wanted)
        except SimallocError:
            return False
    return fnmatchcase(str(value), str(wanted)) if value is not None else wanted is None
