"""Several runs as a table that can be sorted, selected and drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, overload

from simalloc.errors import SimallocError
from simalloc.heap import Run
from simalloc.heap.quantity import Quantity, quantity
from simalloc.policy import UserCode, UserPolicy, spell
from simalloc.printable import printable
from simalloc.report import Table
from simalloc.report.html import html
from simalloc.report.runs import flat_record, runs_table, sorted_runs
from simalloc.report.table import frame_of_runs

if TYPE_CHECKING:
    import pandas as pd


class Runs(Sequence[Run]):
    """An immutable sequence of runs. A notebook displays it as a table.

    Examples
    --------
    >>> runs = simalloc.simulate_all("espresso", ["first-fit-ao", "best-fit-ao"])
    >>> runs["best-fit-ao"].peak_heap_bytes, runs.sorted("#4")[0].policy
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = tuple(runs)

    @overload
    def __getitem__(self, place: int | str | type[UserPolicy]) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> Runs: ...
    def __getitem__(self, place: int | str | type[UserPolicy] | slice) -> Run | Runs:
        """Return a run by its index or its policy, `runs["first-fit-ao"]`, or a slice as `Runs`.

        A policy in Python is selected by its class or by the name of the class. Raises
        `SimallocError` unless exactly one run has the policy.
        """
        if isinstance(place, slice):
            return Runs(self._runs[place])
        if isinstance(place, int):
            return self._runs[place]
        name = place.__name__ if isinstance(place, type) else place
        found = [run for run in self._runs if name in (spell(run.policy), _class_name(run))]
        if len(found) != 1:
            there = f"{len(found)} are given" if found else "none is given"
            raise SimallocError(f"one run of the policy {name!r} is required, but {there}")
        return found[0]

    def __len__(self) -> int:
        return len(self._runs)

    def __add__(self, others: Iterable[Run]) -> Runs:
        return Runs((*self._runs, *others))

    def __repr__(self) -> str:
        names = (f"{run.trace} under {spell(run.policy)}" for run in self)
        return printable(f"<Runs: {', '.join(names)}>")

    def sorted(self, by: str = "#4", *, reverse: bool = False) -> Runs:
        """Return the runs in ascending order of a measure, with undefined values last.

        Parameters
        ----------
        by : str, default "#4"
            `"#1"` to `"#4"`, or any column of `to_pandas`.
        reverse : bool, default False
            Sort in descending order.

        Returns
        -------
        Runs

        Raises
        ------
        SimallocError
            If the column does not exist.
        """
        return Runs(sorted_runs(self._runs, by, reverse=reverse))

    def table(self, of: Quantity = "mapped") -> Table:
        """Return a table with one row per run: the four measures in percent, and bytes.

        Parameters
        ----------
        of : {"mapped", "resident", "largest-free"}, default "mapped"
            Bytes to which the measures apply. For the largest free block, the table has the
            minimum, mean and final size instead of the measures.

        Returns
        -------
        Table
        """
        return runs_table(self._runs, of=quantity(of), speed=False)

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
        return frame_of_runs((flat_record(run), run.policy.parameters) for run in self._runs)

    def _repr_html_(self) -> str:
        return html(self.table())

    def _ipython_key_completions_(self) -> list[str]:
        return [spell(run.policy) for run in self._runs]


def _class_name(run: Run) -> str | None:
    """Return the class name of a policy in Python, or None."""
    code = run.policy.description
    return code.code.name if isinstance(code, UserCode) else None
