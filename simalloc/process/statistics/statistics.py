"""The figures of an allocator, whichever it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ArenaFigures:
    """The bytes of one arena."""

    name: str
    bytes: int
    """From the system, or active."""
    used: int
    """Held by the program or by thread caches."""
    free: int
    """Free between other blocks."""
    top: int | None = None
    """Free at the top; None where the allocator has no such block."""


@dataclass(frozen=True)
class ClassFigures:
    """The blocks of one size, or of a range of sizes."""

    size: str
    """In bytes: `48` or `1,041 to 1,056`."""
    used_blocks: int | None
    free_blocks: int | None
    used: int | None
    """Bytes."""
    free: int | None
    """Bytes."""


@dataclass(frozen=True)
class Statistics:
    """An allocator's own figures."""

    allocator: str
    source: str
    """The file's path."""
    system: int
    """Bytes that the allocator has from the system."""
    named: Sequence[tuple[str, int]]
    """Kinds of memory with their bytes, as parts of the answer: `in use` and so on."""
    arenas: Sequence[ArenaFigures]
    classes: Sequence[ClassFigures]
    notes: Sequence[str] = ()
