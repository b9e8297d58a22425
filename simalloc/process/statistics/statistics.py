"""The figures of an allocator of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ArenaFigures:
    """The bytes of one arena."""

    name: str
    bytes: int
    """Bytes from the system, or active bytes."""
    used: int
    """Bytes of blocks that the program or thread caches hold."""
    free: int
    """Free bytes between other blocks."""
    top: int | None = None
    """Free bytes in the top chunk, or None if the allocator has no top chunk."""


@dataclass(frozen=True)
class ClassFigures:
    """The blocks of one size, or of a range of sizes."""

    size: str
    """Size in bytes, such as `48` or `1,041 to 1,056`."""
    used_blocks: int | None
    free_blocks: int | None
    used: int | None
    """Bytes in use."""
    free: int | None
    """Free bytes."""


@dataclass(frozen=True)
class Statistics:
    """An allocator's own figures."""

    allocator: str
    source: str
    """The file's path."""
    system: int
    """Bytes that the allocator has from the system."""
    named: Sequence[tuple[str, int]]
    """Kinds of memory and their bytes, as parts of the answer, such as `in use`."""
    arenas: Sequence[ArenaFigures]
    classes: Sequence[ClassFigures]
    notes: Sequence[str] = ()
