"""What is replayed and how, and the C core's simulation of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simalloc.errors import PolicyError, SimallocError
from simalloc.heap._core import Simulation
from simalloc.heap.run import Realloc
from simalloc.policy import PythonCode
from simalloc.policy import policy as find_policy
from simalloc.policy.device import Device

if TYPE_CHECKING:
    from simalloc.policy import AnyPolicy, Family, Policy
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
        cls, source: EventSource, policy: AnyPolicy, scale: int, realloc: Realloc | str
    ) -> Setting:
        """Return what was asked for; raises as `simulate` does if there is no such thing."""
        described, rule = find_policy(policy), find_realloc(realloc)
        check_scale(scale)
        if isinstance(described.description, Device):
            scale = 1  # its constants are bytes
        return cls(source, described, scale, rule)

    def simulation(self, *, checked: bool = False, portable: bool = False) -> Simulation:
        """Return an empty heap of the C core, for the events of the source.

        `checked` verifies the whole heap after each event; `portable` renounces vector code.
        """
        description = self._family()
        return Simulation(
            description.core,
            len(self.source),
            self.scale,
            self.realloc.value,
            checked,
            portable,
            description.core_parameters(),
            **self._decider(),
        )

    def _family(self) -> Family:
        description = self.policy.description
        if isinstance(description, Device):
            raise PolicyError(f"{self.policy.name} is a device allocator: this is of heaps alone")
        return description

    def _decider(self) -> dict[str, Any]:
        """Return the Python object that decides, if one does."""
        description = self.policy.description
        if isinstance(description, PythonCode):
            return {"policy": description.decider(self.source)}
        return {}


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
