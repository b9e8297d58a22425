"""The families, one module each; a description names its module and class."""

from __future__ import annotations

from importlib import import_module

from simalloc.errors import PolicyError
from simalloc.heap.reference.heap import Heap
from simalloc.policy import Family


def _instead(description: Family) -> str:
    """Return the reason why a family has no reference engine."""
    if description.recordings:
        return "it is verified against recordings of the real code (tests/truth)"
    return "it exists only in compiled form"


def heap_for(description: Family) -> Heap:
    """Return an empty heap under a policy; raises `PolicyError` for an unknown family."""
    if description.recordings or not description.reference:
        raise PolicyError(f"{description.family} has no reference engine; {_instead(description)}")
    module, _, name = description.reference.partition(":")
    made: Heap = getattr(import_module(f"{__name__}.{module}"), name)(description)
    return made
