"""The families, one module each, written to be read; a description names its module and class."""

from __future__ import annotations

from importlib import import_module

from simalloc.errors import PolicyError
from simalloc.heap.reference.heap import Heap
from simalloc.policy import Family
from simalloc.policy.device import Device


def heap_for(description: Family | Device) -> Heap:
    """Return an empty heap under the policy described; raises `PolicyError` if there is none."""
    if not description.reference:
        raise PolicyError(f"{description.family} has no reference engine; it is compiled alone")
    module, _, name = description.reference.partition(":")
    made: Heap = getattr(import_module(f"{__name__}.{module}"), name)(description)
    return made
