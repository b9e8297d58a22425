"""The identity of a trace: a SHA-256 of its events, and a SHA-256 of each optional column."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.chunk import Packed
from simalloc.trace.events import OPTIONAL_COLUMNS

if TYPE_CHECKING:
    from hashlib import _Hash


class Identity(NamedTuple):
    """The identity of a trace: the digests of its events and of its optional columns, by name."""

    events: str
    columns: Mapping[str, str]

    def digest(self, wanted: Collection[str]) -> str:
        """Return one digest of the events and of those requested columns that the trace has."""
        lines = [f"{name} {digest}\n" for name, digest in self.columns.items() if name in wanted]
        if not lines:
            return self.events
        return hashlib.sha256("".join([f"{self.events}\n", *lines]).encode()).hexdigest()


class Digests:
    """Computes the digests of a trace's events and of the named columns.

    The digests are updated chunk by chunk. Each array is preceded by its number of bytes (uint64).
    """

    def __init__(self, columns: Collection[str] = ()) -> None:
        self._events = hashlib.sha256()
        self._columns = {name: hashlib.sha256() for name in columns}

    def update(self, packed: Packed, columns: Mapping[str, NDArray[np.uint8]]) -> None:
        """Add the next chunk: its events, and the planes of its columns."""
        for array in packed:
            add_array(self._events, array)
        for name, planes in columns.items():
            self.update_column(name, planes)

    def begin(self, name: str) -> None:
        """Begin another column."""
        self._columns[name] = hashlib.sha256()

    def update_column(self, name: str, planes: NDArray[np.uint8]) -> None:
        """Add the next chunk of a column, which may be new."""
        add_array(self._columns.setdefault(name, hashlib.sha256()), planes)

    @property
    def identity(self) -> Identity:
        """The digests so far, in hexadecimal."""
        columns = {
            name: self._columns[name].hexdigest()
            for name in OPTIONAL_COLUMNS
            if name in self._columns
        }
        return Identity(self._events.hexdigest(), columns)


def add_array(digest: _Hash, array: NDArray[np.uint8]) -> None:
    """Add the number of bytes of an array, and then the bytes, to a digest."""
    digest.update(array.nbytes.to_bytes(8, "little"))
    digest.update(np.ascontiguousarray(array).data)
