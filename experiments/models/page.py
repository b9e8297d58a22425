"""The page for docs: its words are in `page.md`, the figures in them come from the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from experiments.models.measuring import MALLOCS, Compared
from experiments.output import fill_page, listed, markdown
from simalloc.report import Table

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
        "mallocs": listed([f"{MALLOCS[name].real} ({MALLOCS[name].release})" for name in shown]),
        "found": "\n".join(_found(name, some) for name, some in by_malloc.items()),
        "starts": "; ".join(
            f"{name} {some[0].start.mapped:,} bytes mapped and {some[0].start.resident:,} resident"
            for name, some in by_malloc.items()
        ),
        "all": "\n\n".join(markdown(table).strip() for table in shown.values()),
    }
    return fill_page(_WORDS, facts, {})


def _found(malloc: str, some: Sequence[Compared]) -> str:
    """Return a summary of a malloc's differences in words."""
    mapped = [(one.missing.mapped, one.real.mapped) for one in some]
    resident = [
        pair
        for one in some
        for pair in (
            (one.missing.resident, one.real.resident),
            (one.missing.final, one.real.final),
        )
    ]
    return (
        f"- **{malloc}**: of {len(some)} peaks of mapped memory {_near(mapped)}; of "
        f"{len(resident)} figures of resident memory {_near(resident)}."
    )


def _near(figures: Sequence[tuple[int, int]]) -> str:
    """Return the number of equal figures, and the size of other differences in words."""
    equal = sum(missing == 0 for missing, _ in figures)
    if equal == len(figures):
        return "all are equal to the byte"
    near = sum(abs(missing) <= 2 * _PAGE_BYTES for missing, _ in figures)
    largest = max(abs(missing) for missing, _ in figures)
    widest = max(abs(missing) / of for missing, of in figures)
    return (
        f"{equal} are equal to the byte and {near} within two pages; the others differ by up to "
        f"{largest:,} bytes, and up to {100 * widest:.2f} percent"
    )
