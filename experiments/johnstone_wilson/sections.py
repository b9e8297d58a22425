"""The paper's sections 6.3 and 6.4, which interpret tables 5 to 7, compared with our traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final

from experiments.johnstone_wilson.programs import GENUINE
from experiments.johnstone_wilson.published import table
from experiments.johnstone_wilson.statistics import Described, comparisons
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

_WAITS: Final = 5
_BYTES: Final = 6
_SIZES: Final = 7


@dataclass(frozen=True)
class Verdict:
    """A column's mean over the genuine programs, printed and measured, each with its range."""

    printed: float
    here: float
    printed_range: str
    here_range: str


def verdicts(described: Described) -> dict[str, dict[str, Verdict]]:
    """Return the columns of tables 5 and 6 (K until both neighbours are free) and 7, by name."""
    by_number = {one.published.number: one for one in comparisons(described)}
    return {
        name: {
            column: _verdict(by_number[number].pairs(), column) for column in table(number).columns
        }
        for name, number in (("waits", _WAITS), ("bytes", _BYTES), ("sizes", _SIZES))
    }


def _verdict(pairs: list[tuple[str, str, float, float]], wanted: str) -> Verdict:
    cells = [
        (printed, here)
        for program, column, printed, here in pairs
        if column == wanted and program in GENUINE
    ]
    printed, here = zip(*cells, strict=True)
    return Verdict(mean(printed), mean(here), _range(printed), _range(here))


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.0f} to {max(values):.0f}"


def sections_table(described: Described) -> Table:
    """Return one row for each column of tables 5 to 7: the means over the genuine programs."""
    found = verdicts(described)
    rows: list[tuple[Value, ...]] = [
        *(
            (f"6.3: {share} of {what}, K", Rounded(one.printed, 1), Rounded(one.here, 1))
            for what, name in (("objects", "waits"), ("bytes", "bytes"))
            for share, one in found[name].items()
        ),
        *(
            (f"6.4: {share} of objects, sizes", Rounded(one.printed, 0), Rounded(one.here, 0))
            for share, one in found["sizes"].items()
        ),
    ]
    title = f"Tables 5 to 7: means over the {len(GENUINE)} genuine programs"
    return Table(title, ("section", "published", "here"), rows)
