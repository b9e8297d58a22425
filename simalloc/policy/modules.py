"""Search for the modules of a package, so that a new module needs no registration."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def modules_in(package: str, paths: Iterable[str]) -> list[ModuleType]:
    """Return the modules of a package in the order of their names; `paths` is its `__path__`."""
    names = sorted(found.name for found in iter_modules(paths))
    return [import_module(f"{package}.{name}") for name in names]
