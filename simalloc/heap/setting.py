"""What is replayed and how, and the C core's simulation of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap._core import Simulation
from simalloc.heap.run import Realloc
from simalloc.policy import Family, Fit, Order, PythonCode, Series
from simalloc.policy import policy as find_policy
from simalloc.policy.families.binned_fit import LastRemainder
from simalloc.policy.parts import Splitting

if TYPE_CHECKING:
    from simalloc.policy import AnyPolicy, Policy
    from simalloc.trace import EventSource

# How the core numbers the choices (heap/core/mechanism.h and replay.h).
_NUMBERS: Final[dict[Enum, int]] = {
    choice: number
    for choices in (
        (Fit.FIRST, Fit.NEXT, Fit.BEST),
        (Order.LIFO, Order.FIFO, Order.ADDRESS),
        (Series.POWERS, Series.POWERS_AND_THREES),
        (LastRemainder.NONE, LastRemainder.SMALL, LastRemainder.ANY),
        (Realloc.FREE_FIRST, Realloc.MOVE, Realloc.IN_PLACE),
    )
    for number, choice in enumerate(choices)
}

_NOT_YET_IN_THE_CORE: Final = {part.name for base in (Family, Splitting) for part in fields(base)}


@dataclass(frozen=True)
class Setting:
    """All that decides what comes out of a simulation."""

    source: EventSource
    policy: Policy
    scale: int
    realloc: Realloc

    @classmethod
    def of(
        cls, source: EventSource, policy: AnyPolicy, scale: int, realloc: Realloc | str
    ) -> Setting:
        """Return what was asked for; raises as `simulate` does if there is no such thing."""
        described, rule = find_policy(policy), find_realloc(realloc)
        check_scale(scale)
        return cls(source, described, scale, rule)

    def simulation(self, *, checked: bool = False, portable: bool = False) -> Simulation:
        """Return an empty heap of the C core, for the events of the source.

        `checked` verifies the whole heap after each event; `portable` renounces vector code.
        """
        description = self.policy.description
        parts: dict[str, Any]
        if isinstance(description, PythonCode):
            family, parts = "python", {"policy": description.decider(self.source)}
        else:
            family, parts = description.core, _parts(description)
        rule = _NUMBERS[self.realloc]
        return Simulation(family, len(self.source), self.scale, rule, checked, portable, **parts)


def find_realloc(rule: Realloc | str) -> Realloc:
    """Return a realloc rule by its name; raises `SimallocError` if there is none."""
    try:
        return Realloc(rule)
    except ValueError:
        known = ", ".join(each.value for each in Realloc)
        raise SimallocError(f"there is no realloc rule {rule!r}; there are {known}") from None


def check_scale(scale: object) -> None:
    """Raise `SimallocError` unless sizes can be scaled by `scale`."""
    is_whole = isinstance(scale, (int, np.integer)) and not isinstance(scale, bool)
    if not is_whole or scale not in range(1, 4097):
        raise SimallocError(f"scale is {scale!r}; it takes a whole number from 1 to 4096")


def _parts(description: Family) -> dict[str, Any]:
    """Return the parts of a description as the core takes them."""
    return {
        part.name: _NUMBERS[value] if isinstance(value, Enum) else value
        for part in fields(description)
        if part.name not in _NOT_YET_IN_THE_CORE
        for value in [getattr(description, part.name)]
    }
