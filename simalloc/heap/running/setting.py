"""What is replayed and how, and the C core's simulation of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap._core import Simulation
from simalloc.heap.run import PAGE, OnRefusal, Realloc
from simalloc.policy import AnyPolicy, Policy, UserCode, find_policy
from simalloc.policy.device import Device
from simalloc.trace import EventSource
from simalloc.trace.sample import refuse_sample


@dataclass(frozen=True)
class Setting:
    """All that decides the result of a simulation."""

    source: EventSource
    policy: Policy
    scale: int
    realloc: Realloc
    page: int = PAGE
    """Bytes of the program in a page."""
    resident: bool = False
    """Whether it is tracked which pages are resident."""
    writes: bool = True
    """Whether the program writes every byte that it asks for, or none."""
    occupied: tuple[int, ...] = ()
    """Sizes of pages, in bytes of the program, of which those with live bytes are counted."""
    goes_on: bool = True
    """Whether the program goes on without an object that it was refused, or ends there."""

    @classmethod
    def of(
        cls,
        source: EventSource,
        policy: AnyPolicy,
        scale: int | None,
        realloc: Realloc | str | None,
        *,
        page: int = PAGE,
        resident: bool = False,
        writes: bool = True,
        occupied: Sequence[int] = (),
        on_refusal: OnRefusal | str | None = None,
    ) -> Setting:
        """Return the setting of these values; raises as `simulate` does if one does not exist.

        Without a `scale` it is the policy's own.
        """
        refuse_sample(source)
        described = find_policy(policy)
        rule = find_realloc(realloc, described)
        scale = described.scale if scale is None else scale
        check_scale(scale)
        scale = described.description.only_scale or scale
        for size in (page, *occupied):
            check_page(size)
        goes_on = find_on_refusal(on_refusal, described) is OnRefusal.GO_ON
        return cls(source, described, scale, rule, page, resident, writes, tuple(occupied), goes_on)

    @property
    def columns(self) -> tuple[str, ...]:
        """The optional columns of the trace that are fed to the policy."""
        looked_at = self.policy.description.looked_at
        return (*looked_at, "unwritten") if self.resident and self.writes else looked_at

    @property
    def other_threads(self) -> int:
        """How many threads besides number 0 there are at the start, if the policy looks at threads.

        For each of them the C library has allocated something before the first event.
        """
        allocates = self.policy.description.allocates_for_threads(self.source.provenance)
        return self.threads - 1 if allocates else 0

    @property
    def threads(self) -> int:
        """How many threads there are with number 0, if the policy looks at threads; else 1."""
        if "thread" not in self.columns:
            return 1
        return len(self.source.thread_numbers | {0})

    @property
    def replayed_threads(self) -> int:
        """How many of the trace's threads the policy tells apart; those of a device's are one."""
        apart = "thread" in self.columns or isinstance(self.policy.description, Device)
        return self.source.threads if apart else 1

    def simulation(
        self,
        *,
        checked: bool = False,
        portable: bool = False,
        keeps_mappings: bool = False,
        events: int | None = None,
    ) -> Simulation:
        """Return an empty heap of the C core, for the events of the source or `events`.

        `checked` verifies the whole heap after each event; `portable` does without vector code;
        `keeps_mappings` keeps what was mapped and unmapped when.
        """
        description = self.policy.description
        return Simulation(
            description.compiled or description.core,
            len(self.source) if events is None else events,
            self.scale,
            self.realloc.value,
            checked,
            portable,
            description.core_parameters()
            | {"other_threads": self.other_threads, "threads": self.threads},
            self.page,
            self.resident,
            self.occupied,
            self.writes,
            self.goes_on,
            keeps_mappings,
            **self._decider(),
        )

    def _decider(self) -> dict[str, Any]:
        """Return the Python object that decides, if one does."""
        description = self.policy.description
        if isinstance(description, UserCode):
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


def find_on_refusal(behaviour: OnRefusal | str | None, policy: Policy) -> OnRefusal:
    """Return the behaviour on a refused request by its name; raises `SimallocError` if unknown.

    None is the policy's own: device allocators stop, all others go on.
    """
    if behaviour is None:
        return OnRefusal.STOP if policy.description.stops_when_refused else OnRefusal.GO_ON
    try:
        return OnRefusal(behaviour)
    except ValueError:
        known = ", ".join(each.value for each in OnRefusal)
        raise SimallocError(f"on_refusal is {behaviour!r}; it takes {known}") from None


def check_page(page: int) -> None:
    """Raise `SimallocError` unless a page may have these bytes: a power of two from 1K to 1G."""
    if not 1 << 10 <= page <= 1 << 30 or page & (page - 1):
        raise SimallocError(f"page is {page}; it takes a power of two from 1K to 1G, such as 4K")


def check_scale(scale: object) -> None:
    """Raise `SimallocError` unless sizes can be scaled by `scale`."""
    is_whole = isinstance(scale, (int, np.integer)) and not isinstance(scale, bool)
    if not is_whole or scale not in range(1, 4097):
        raise SimallocError(f"scale is {scale!r}; it takes a whole number from 1 to 4096")
