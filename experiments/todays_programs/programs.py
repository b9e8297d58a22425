"""Today's programs: the programs that a recipe in traces/recipes records."""

from __future__ import annotations

from typing import Final

from experiments.shipped import shipped
from simalloc.policy import CATALOGUE
from simalloc.policy.catalogue.johnstone_wilson import POLICIES

PROGRAMS: Final = tuple(
    name
    for name, entry in shipped().items()
    if (entry.path.parent / "recipes" / f"{name}.sh").exists()
)

ROWS: Final = tuple(name for name in CATALOGUE if name in {one.name for one in POLICIES})
"""Johnstone & Wilson's sixteen policies."""
