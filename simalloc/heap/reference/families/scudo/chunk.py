"""Scudo's record of a block in use (policy/families/scudo.md)."""

from __future__ import annotations

from dataclasses import dataclass

from simalloc.heap.reference.families.scudo.secondary import Mapping


@dataclass
class Chunk:
    """An allocated block of class `number` that begins at `block`, or a whole `mapping`."""

    size: int
    position: int
    number: int = 0
    block: int = 0
    mapping: Mapping | None = None
