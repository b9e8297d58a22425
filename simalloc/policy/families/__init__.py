"""The families of policies, one module each; a new module here needs no registration."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from simalloc.policy.families.base import Family, HeapFamily
from simalloc.policy.modules import modules_in

FAMILIES: Final[Mapping[str, type[HeapFamily]]] = MappingProxyType(
    {
        kind.family: kind
        for module in modules_in(__name__, __path__)
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, HeapFamily)
        and kind.__module__ == module.__name__
        if kind is not HeapFamily
    }
)
"""Every family by its name."""

__all__ = ["FAMILIES", "Family", "HeapFamily"]
