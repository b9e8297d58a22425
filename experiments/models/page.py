"""The page for docs. Its text is in `page.md`, its figures come from the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from experiments.models.measuring import MALLOCS, Compared
from experiments.output import fill_page, listed, markdown
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

PAGE: Final = "models.md"

_WORDS: Final = Path(__file__).with_name("page.md")

_NEAR: Final = 2 * 4096
"""Bytes in two pages."""

_COLUMNS: Final = (
    "trace",
    "peak live",
    "mapped",
    "process - model",
    "resident at peak live",
    "process - model ",
    "resident at the end",
    "process - model  ",
)


def tables(compared: Sequence[Compared]) -> dict[str, Table]:
    """Return the differences by malloc, and one table of processes and models per malloc."""
    mallocs = dict.fromkeys(one.malloc for one in compared)
    return {"differences": _differences(compared)} | {
        malloc: Table(
            f"{malloc} and its model",
            _COLUMNS,
            [_row(one) for one in compared if one.malloc == malloc],
        )
        for malloc in mallocs
    }


def _row(one: Compared) -> tuple[str | int, ...]:
    real, missing = one.real, one.missing
    pairs = zip(vars(real).values(), vars(missing).values(), strict=True)
    return (one.program, one.live, *(figure for pair in pairs for figure in pair))


def page(compared: Sequence[Compared], shown: Mapping[str, Table]) -> str:
    """Return the page as Markdown."""
    first = {one.malloc: one.start for one in reversed(compared)}
    mallocs = [name for name in shown if name in first]
    rows = _pairs(compared).values()
    facts = {
        "mallocs": listed([f"{MALLOCS[name].real} ({MALLOCS[name].release})" for name in mallocs]),
        "figures": sum(map(len, rows)),
        "near": sum(abs(missing) <= _NEAR for pairs in rows for missing, _ in pairs),
        "starts": "; ".join(
            f"{name} {first[name].mapped:,} bytes mapped and {first[name].resident:,} resident"
            for name in mallocs
        ),
        "all": "\n\n".join(markdown(shown[name]).strip() for name in mallocs),
    }
    return fill_page(_WORDS, facts, {"differences": shown["differences"]})


def _pairs(compared: Sequence[Compared]) -> Mapping[tuple[str, str], Sequence[tuple[int, int]]]:
    """Return the missing and the real bytes of each figure, by malloc and kind of memory."""
    pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for one in compared:
        real, missing = one.real, one.missing
        pairs.setdefault((one.malloc, "mapped"), []).append((missing.mapped, real.mapped))
        resident = pairs.setdefault((one.malloc, "resident"), [])
        resident += [(missing.resident, real.resident), (missing.final, real.final)]
    return pairs


def _differences(compared: Sequence[Compared]) -> Table:
    """Return the numbers of equal and of near figures, and the largest differences."""
    columns = (
        "malloc", "memory", "figures", "equal", "within two pages", "largest difference, bytes",
        "largest difference, %",
    )  # fmt: skip
    rows: list[Sequence[Value]] = [
        (
            *names,
            len(pairs),
            sum(missing == 0 for missing, _ in pairs),
            sum(abs(missing) <= _NEAR for missing, _ in pairs),
            max(abs(missing) for missing, _ in pairs),
            Rounded(max(100 * abs(missing) / real for missing, real in pairs), 2),
        )
        for names, pairs in _pairs(compared).items()
    ]
    return Table("Differences of the models from the processes", columns, rows)
