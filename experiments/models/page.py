"""The page for docs: its words are in `page.md`, the figures in them come from the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from experiments.models.measuring import MALLOCS
from experiments.output import fill_page, listed, markdown
from simalloc.report import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from experiments.models.measuring import Compared

PAGE: Final = "models.md"

_WORDS: Final = Path(__file__).with_name("page.md")

_PAGE_BYTES: Final = 4096

_COLUMNS: Final = (
    "trace",
    "peak live",
    "mapped",
    "model less",
    "resident at peak live",
    "model less ",
    "resident at the end",
    "model less  ",
)


def tables(compared: Sequence[Compared]) -> dict[str, Table]:
    """Return a table for each malloc: what its process had, and how much less its model has."""
    return {
        malloc: Table(
            f"{malloc} and its model",
            _COLUMNS,
            [_row(one) for one in compared if one.malloc == malloc],
        )
        for malloc in dict.fromkeys(one.malloc for one in compared)
    }


def _row(one: Compared) -> tuple[str | int, ...]:
    real, missing = one.real, one.missing
    pairs = zip(vars(real).values(), vars(missing).values(), strict=True)
    return (one.program, one.live, *(figure for pair in pairs for figure in pair))


def page(compared: Sequence[Compared], shown: Mapping[str, Table]) -> str:
    """Return the page as Markdown."""
    by_malloc = {malloc: [one for one in compared if one.malloc == malloc] for malloc in shown}
    facts = {
        "traces": max(map(len, by_malloc.values())),
        "mallocs": listed([f"{MALLOCS[name].real} ({MALLOCS[name].release})" for name in shown]),
        "found": "\n\n".join(_found(name, some) for name, some in by_malloc.items()),
        "all": "\n\n".join(markdown(table).strip() for table in shown.values()),
    }
    return fill_page(_WORDS, facts, {})


def _found(malloc: str, some: Sequence[Compared]) -> str:
    """Return in words what a malloc's differences come to."""
    mapped = [one.missing.mapped for one in some]
    resident = [each for one in some for each in (one.missing.resident, one.missing.final)]
    start = some[0].start
    return (
        f"**{malloc}**: of {len(some)} peaks of what is mapped {_equal(mapped)}; of "
        f"{len(resident)} resident figures {_equal(resident)}. Taken off are {start.mapped:,} "
        f"bytes mapped and {start.resident:,} resident."
    )


def _equal(missing: Sequence[int]) -> str:
    """Return how many differences are none, and how large the others are."""
    equal = sum(each == 0 for each in missing)
    if equal == len(missing):
        return "all are equal to the byte"
    largest = max(map(abs, missing)) // _PAGE_BYTES
    near = sum(abs(each) <= 2 * _PAGE_BYTES for each in missing)
    return f"{equal} are equal to the byte, {near} within two pages, all within {largest:,}"
