"""Reads the pickle of a snapshot: data alone, so that nothing in it can run, and in little memory.

Most of a snapshot are the entries of its history. Each is turned into a row of numbers soon after
it is read, and emptied. A pickle is looked through first; if it makes plain data alone, the
unpickler in C reads it, from a copy with a call after each dict's items, in which entries are taken
out. All others are read in Python.
"""

from __future__ import annotations

import gc
import pickle
from array import array
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

import numpy as np

from simalloc.trace._native import pickle_marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ACTIONS: Final = (
    *("alloc", "free", "free_completed", "free_requested", "oom"),
    *("segment_alloc", "segment_free", "segment_map", "segment_unmap"),
)
"""What an entry may tell; its row has the number."""
ALLOC, FREE, COMPLETED, REQUESTED, OOM, SEGMENT, SEGMENT_BACK, MAP, UNMAP = range(len(ACTIONS))
NO_EVENT: Final = len(ACTIONS)
WRONG: Final = NO_EVENT + 1

FIELDS: Final = ("action", "address", "size", "stream", "pool", "time", "site", "empties")
"""The numbers of a row; of an out-of-memory `address` is what was free. `empties`: whether
empty_cache was called, 2: this cannot be known."""
UNKNOWN: Final = 2

_NUMBERS: Final = {action: number for number, action in enumerate(ACTIONS)}
_NO_EVENTS: Final = frozenset({"snapshot", "annotate", "user_defined", "workspace_snapshot"})
_AT_ONCE: Final = 1 << 12
"""Entries that are turned into rows together."""
_READ_AHEAD: Final = 1 << 17  # bytes
_MOST: Final = 2**52  # of a number: more than any address, and microseconds of a century
_EMPTY_CACHE: Final = ("empty_cache", "emptyCache")


class Row(int):
    """Stands for an entry: its place in `Entries.rows`."""

    __slots__ = ()


class Entries:
    """The rows of all entries, whichever device they are of.

    `number_site` makes a number of frames.
    """

    def __init__(self, number_site: Callable[[list[Any]], int]) -> None:
        self.rows = array("q")
        self._waiting: list[dict[Any, Any]] = []
        self._count = 0
        self._number_site = number_site
        self._sites: dict[tuple[int, ...], tuple[tuple[int, int], tuple[Any, ...]]] = {}
        self._pools: dict[tuple[Any, ...], int] = {(0, 0): 0}

    def take(self, found: Any) -> Any:
        """Return the `Row` that takes an entry's place; all else is returned as it is."""
        if type(found) is not dict or "action" not in found:
            return found
        self._waiting.append(found)
        self._count += 1
        if len(self._waiting) == _AT_ONCE:
            self.finish()
        return Row(self._count - 1)

    def finish(self) -> None:
        """Turn the entries that wait into rows, and empty them: the unpickler's memo keeps them."""
        if not self._add_alike(self._waiting):
            for entry in self._waiting:
                self.rows.extend(self._row(entry))
        for entry in self._waiting:
            entry.clear()
        self._waiting.clear()

    def _add_alike(self, part: list[Any]) -> bool:
        """Add the rows of entries column by column, if they all are as most are."""
        try:
            columns = [
                [_NUMBERS[entry["action"]] for entry in part],
                [entry["addr"] for entry in part],
                [entry["size"] for entry in part],
                [entry.get("stream", 0) for entry in part],
                [entry.get("time_us", 0) for entry in part],
            ]
            pools = [entry.get("pool_id", entry.get("segment_pool_id")) for entry in part]
            numbers = {pool: self.pool(pool) for pool in dict.fromkeys(pools)}
        except (KeyError, TypeError, AttributeError):
            return False
        if any(set(map(type, column)) != {int} for column in columns):
            return False
        if any(min(column) < 0 or max(column) >= _MOST for column in columns):
            return False
        if OOM in columns[0]:
            return False
        sites = [self._site(entry.get("frames")) for entry in part]
        columns.insert(4, [numbers[pool] for pool in pools])
        columns += [list(column) for column in zip(*sites, strict=True)]
        self.rows.frombytes(np.array(columns, np.int64).T.tobytes())
        return True

    def pool(self, given: object) -> int:
        """Return the number of a pool's id; 0 is the pool of all that has none of its own."""
        if not isinstance(given, (tuple, list)) or not all(type(part) is int for part in given):
            return 0
        return self._pools.setdefault(tuple(given), len(self._pools))

    def _row(self, entry: dict[Any, Any]) -> tuple[int, ...]:
        action = entry["action"]
        number = _NUMBERS.get(action, WRONG) if isinstance(action, str) else WRONG
        if number == WRONG:
            known = isinstance(action, str) and action in _NO_EVENTS
            return (NO_EVENT if known else WRONG, *(len(FIELDS) - 1) * (0,))
        numbers: list[Any] = [
            entry.get("device_free", 0) if number == OOM else entry.get("addr"),
            entry.get("size"),
            entry.get("stream", 0),
            entry.get("time_us", 0),
        ]
        if not all(type(each) is int and 0 <= each < _MOST for each in numbers):
            return (WRONG, *(len(FIELDS) - 1) * (0,))
        address, size, stream, time = numbers
        pool = self.pool(entry.get("pool_id", entry.get("segment_pool_id")))
        site, empties = self._site(entry.get("frames"))
        return number, address, size, stream, pool, time, site, empties

    def _site(self, frames: object) -> tuple[int, int]:
        """Return the number of frames, and whether they are of empty_cache."""
        if not isinstance(frames, list) or not frames:
            return 0, UNKNOWN
        path = tuple(map(id, frames))
        known = self._sites.get(path)
        if known is None:
            names = (frame.get("name") for frame in frames if isinstance(frame, dict))
            empties = any(isinstance(name, str) and name.endswith(_EMPTY_CACHE) for name in names)
            site = self._number_site(frames), int(empties)
            known = self._sites[path] = site, tuple(frames)  # which keeps them, and so their ids
        return known[0]


def unpickler(content: bytes, entries: Entries) -> PlainUnpickler | Unpickler:
    """Return what reads a pickle into `entries`; the pickle itself is not needed any more."""
    marked = pickle_marked(content)
    if marked is None:
        return Unpickler(BytesIO(content), entries)
    return PlainUnpickler(BytesIO(marked), entries)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep Python from looking for cycles in the millions of objects that a pickle makes."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class PlainUnpickler(pickle.Unpickler):
    """The unpickler in C, of pickles that have been looked through and marked."""

    def __init__(self, stream: BytesIO, entries: Entries) -> None:
        super().__init__(BufferedReader(stream, _READ_AHEAD))
        self._entries = entries

    def load(self) -> Any:
        """Return the object of the pickle, with a `Row` for each entry; any error if damaged."""
        with _uncollected():
            loaded = super().load()
        self._entries.finish()
        return loaded

    def persistent_load(self, found: Any) -> Any:
        """Take what was just filled out of the pickle, if it is an entry."""
        return self._entries.take(found)

    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuse whatever the pickle names."""
        raise pickle.UnpicklingError(f"it names {module}.{name}; a snapshot holds data alone")


class Unpickler(pickle._Unpickler):  # noqa: SLF001 - the docstring says why
    """Unpickles numbers, texts and containers alone, and entries as rows.

    It is the unpickler in Python. That in C makes its memo as long as the largest number in the
    file says: a few bytes can take all memory. So can a bytearray, which no snapshot has.
    """

    def __init__(self, stream: BytesIO, entries: Entries) -> None:
        super().__init__(stream)
        self._entries = entries

    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuse whatever the pickle names."""
        raise pickle.UnpicklingError(f"it names {module}.{name}; a snapshot holds data alone")

    def get_extension(self, code: int) -> NoReturn:
        """Refuse what is named by a number."""
        raise pickle.UnpicklingError(f"it names extension {code}; a snapshot holds data alone")

    def load(self) -> Any:
        """Return the object of the pickle, with a `Row` for each entry; any error if damaged."""
        loaded = super().load()
        self._entries.finish()
        return loaded

    def load_items(self: Any) -> None:
        """Fill a dict; if it is an entry, its row takes its place."""
        super().load_setitems()  # type: ignore[misc]
        self.stack[-1] = self._entries.take(self.stack[-1])

    dispatch: ClassVar[dict[int, Any]] = {
        code: load
        for code, load in pickle._Unpickler.dispatch.items()  # noqa: SLF001 - as above
        if code != pickle.BYTEARRAY8[0]
    } | {pickle.SETITEMS[0]: load_items}
