"""The bytes of a heap as a malloc's own statistics (`malloc_stats`) report them.

Some lines are not printed by the malloc: they are components of its lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

_PAGE: Final = 4096


class Known(NamedTuple):
    """Bytes of a heap that the model knows.

    `reported` has the figures of the malloc's model, by the malloc's names. The other fields are
    components of the heap: `beyond` are the bytes of blocks beyond requests, and `ends` the bytes
    that fit no block.
    """

    reported: Mapping[str, int]
    live: float
    beyond: float
    ends: float
    tables: float
    cached: float
    free: float


def own_statistics(family: str, known: Known) -> dict[str, float]:
    """Return the lines of a malloc with their bytes, or nothing if its lines are unknown."""
    lines = _LINES.get(family)
    return lines(known) if lines else {}


def _jemalloc(known: Known) -> dict[str, float]:
    said = known.reported
    dirty, muzzy = _PAGE * said["pdirty"], _PAGE * said["pmuzzy"]
    return {
        **{
            name: said[name]
            for name in ("allocated", "active", "metadata", "resident", "mapped", "retained")
        },
        "live": known.live,
        "rounding to classes": known.beyond,
        "ends of slabs, padding": known.ends,
        "thread caches": known.cached,
        "free in slabs": known.free - dirty - muzzy,
        "dirty": dirty,
        "muzzy": muzzy,
        "metadata not used yet": known.tables - said["metadata"],
    }


def _tcmalloc(known: Known) -> dict[str, float]:
    said = known.reported
    kept = sum(said[name] for name in ("ph_free", "centre", "transfer", "thread_caches"))
    held = said["heap"] - said["ph_returned"]
    return {
        "Bytes in use by application": held - kept,
        "Bytes in page heap freelist": said["ph_free"],
        "Bytes in central cache freelist": said["centre"],
        "Bytes in transfer cache freelist": said["transfer"],
        "Bytes in thread cache freelists": said["thread_caches"],
        "Bytes in malloc metadata": said["metadata"],
        "Actual memory used (physical + swap)": held + said["metadata"],
        "Bytes released to OS (aka unmapped)": said["ph_returned"],
        "Virtual address space used": said["heap"] + said["metadata"],
        "live": known.live,
        "rounding to classes": known.beyond,
    }


def _mimalloc(known: Known) -> dict[str, float]:
    return {
        "reserved": known.live + known.beyond + known.ends + known.tables + known.free,
        "committed": known.reported["committed"],
        "live": known.live,
        "rounding to classes": known.beyond,
        "ends of pages": known.ends,
        "free in pages, and spans": known.free,
        "headers, tables": known.tables,
    }


_LINES: Final[Mapping[str, Callable[[Known], dict[str, float]]]] = MappingProxyType(
    {"jemalloc": _jemalloc, "tcmalloc": _tcmalloc, "mimalloc": _mimalloc}
)
