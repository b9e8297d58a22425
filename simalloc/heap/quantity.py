"""Quantities of a heap over time that a run can measure, and the words that select them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast, get_args

from simalloc.errors import SimallocError
from simalloc.heap.footprint import Footprint
from simalloc.heap.run_options import RunKeywords, RunOptions

if TYPE_CHECKING:
    from simalloc.heap.run import Run

Quantity = Literal["mapped", "resident", "largest-free"]
"""Mapped bytes, resident bytes, or the size of the largest free block."""
QUANTITIES: Final[Sequence[Quantity]] = get_args(Quantity)

WORDS: Final[Mapping[Quantity, str]] = MappingProxyType(
    {
        "mapped": "mapped bytes",
        "resident": "resident bytes",
        "largest-free": "the largest free block",
    }
)
"""Names of the quantities in a sentence."""
NAMES: Final[Mapping[Quantity, str]] = MappingProxyType(
    {"mapped": "peak heap", "resident": "peak resident", "largest-free": "min largest free"}
)
"""Table headers of the worst value of each quantity."""
COLUMNS: Final[Mapping[Quantity, str]] = MappingProxyType(
    {
        "mapped": "peak_heap_bytes",
        "resident": "peak_resident_bytes",
        "largest-free": "min_largest_free_bytes",
    }
)
"""Keys of the worst value of each quantity, in JSON, CSV and files of results."""


class Worst(NamedTuple):
    """The worst value of a quantity in a run, and the index of the first event with that value."""

    bytes: float
    event: int


def quantity(word: object) -> Quantity:
    """Return the quantity that a word selects; raises `SimallocError` for an unknown word."""
    if not isinstance(word, str) or word not in QUANTITIES:
        raise SimallocError(f"unknown quantity {word!r}; choose one of {', '.join(QUANTITIES)}")
    return cast("Quantity", word)


def keywords(words: Iterable[str]) -> RunKeywords:
    """Return the run options that measure these quantities; raises as `quantity`."""
    asked = {quantity(word) for word in words}
    found: RunKeywords = {}
    if "resident" in asked:
        found["resident"] = True
    if "largest-free" in asked:
        found["largest_free"] = True
    return found


def measuring(options: RunOptions, words: Iterable[str]) -> RunOptions:
    """Return run options that also measure these quantities; raises as `quantity`."""
    return replace(options, **keywords(words))


def footprint(run: Run, of: str) -> Footprint:
    """Return the measures of a quantity; raises `SimallocError` if the run has not measured it."""
    measured = {"mapped": run.mapped, "resident": run.resident, "largest-free": run.largest_free}
    found = measured[quantity(of)]
    if found is None:
        option = of.replace("-", "_")
        asked = getattr(run.options, option)
        remedy = f"{run.policy.name} cannot" if asked else f"simulate with {option}=True"
        raise SimallocError(f"the run has not measured {WORDS[quantity(of)]}; {remedy}")
    return found


def worst(run: Run, of: str) -> Worst:
    """Return the peak of mapped or resident bytes, or the minimum of the largest free block."""
    found = footprint(run, of)
    if of == "largest-free":
        return Worst(found.min_bytes, found.min_event)
    return Worst(found.peak_bytes, found.peak_event)


def bytes_of_fragmentation(of: str) -> Literal["mapped", "resident"]:
    """Return the kind of bytes whose fragmentation is reported with a quantity."""
    return "resident" if quantity(of) == "resident" else "mapped"
