"""What is replayed and how, and the C core's simulation of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap._core import Simulation
from simalloc.heap.run import Realloc
from simalloc.policy import PythonCode
from simalloc.policy import policy as find_policy
from simalloc.policy.families.offline import Offline

if TYPE_CHECKING:
    from simalloc.policy import AnyPolicy, Policy
    from simalloc.trace import EventSource


@dataclass(frozen=True)
class Setting:
    """All that decides what comes out of a simulation."""

    source: EventSource
    policy: Policy
    scale: int
    realloc: Realloc

    @classmethod
    def of(
        cls, source: EventSource, policy: AnyPolicy, scale: int, realloc: Realloc | str | None
    ) -> Setting:
        """Return what was asked for; raises as `simulate` does if there is no such thing."""
        described = find_policy(policy)
        rule = find_realloc(realloc, described)
        check_scale(scale)
        return cls(source, described, scale, rule)

    @property
    def is_offline(self) -> bool:
        """Whether the whole trace is placed at once, and not an event after the other."""
        return isinstance(self.policy.description, Offline)

    def simulation(
        self, *, checked: bool = False, portable: bool = False, events: int | None = None
    ) -> Simulation:
        """Return an empty heap of the C core, for the events of the source or so many.

        `checked` verifies the whole heap after each event; `portable` renounces vector code.
        """
        description = self.policy.description
        return Simulation(
            description.core,
            len(self.source) if events is None else events,
            self.scale,
            self.realloc.value,
            checked,
            portable,
            description.core_parameters(),
            **self._decider(),
        )

    def _decider(self) -> dict[str, Any]:
        """Return the Python object that decides, if one does."""
        description = self.policy.description
        if isinstance(description, PythonCode):
            return {"policy": description.decider(self.source)}
        return {}


def find_realloc(rule: Realloc | str | None, policy: Policy) -> Realloc:
    """Return a realloc rule by its name; raises `SimallocError` if there is none.

    None is the rule of the policy: its allocator's own if the mechanism is on, which is in place,
    else free-first.
    """
    if rule is None:
        return Realloc.IN_PLACE if policy.description.mechanism else Realloc.FREE_FIRST
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
