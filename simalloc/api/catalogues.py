"""The catalogues of policies and traces, as mappings with a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TypeVar

from simalloc.policy import CATALOGUE, Policy
from simalloc.report import Table
from simalloc.report.html import html
from simalloc.report.policies import policies_table
from simalloc.report.traces import traces_table
from simalloc.trace.catalogue import Entry, catalogue

Item = TypeVar("Item")


class Catalogue(Mapping[str, Item]):
    """A mapping from names to items. A notebook displays it as a table."""

    def __init__(self, items: Mapping[str, Item], table: Table) -> None:
        self._items = items
        self._table = table

    def __getitem__(self, name: str) -> Item:
        if not isinstance(name, str) or name not in self._items:
            near = get_close_matches(str(name), self._items, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "list(...) returns the names"
            raise KeyError(f"{name!r} is not among the {self._table.title.lower()}; {hint}")
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<{len(self)} {self._table.title.lower()}: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        return html(self._table)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


def policies() -> Catalogue[Policy]:
    """Return the catalogue of policies.

    Returns
    -------
    Catalogue of Policy
        Mapping from names to policies. Each policy has its source and our reading of it. A notebook
        displays the catalogue as a table.

    Examples
    --------
    >>> simalloc.policies()["first-fit-ao"].source
    """
    return Catalogue(CATALOGUE, _without(policies_table(CATALOGUE.values()), "groups", "reading"))


def traces() -> Catalogue[Entry]:
    """Return the catalogue of traces.

    Returns
    -------
    Catalogue of Entry
        Mapping from names to traces with their origin. The traces are in the folder of the
        environment variable SIMALLOC_TRACES, in `traces` in the current directory, and installed
        with simalloc. A notebook displays the catalogue as a table.

    Examples
    --------
    >>> list(simalloc.traces())
    """
    return Catalogue(catalogue(), _without(traces_table(), "version", "input"))


def _without(table: Table, *columns: str) -> Table:
    """Return a table without some columns, narrow enough for a notebook."""
    kept = [place for place, column in enumerate(table.columns) if column not in columns]
    rows = [[row[place] for place in kept] for row in table.rows]
    return replace(table, columns=[table.columns[place] for place in kept], rows=rows)
