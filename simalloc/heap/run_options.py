"""Options of a run: one description for commands, Python and both engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, TypedDict, TypeVar

import numpy as np

from simalloc.arguments import FLAG, Kind, one_of, optional, whole
from simalloc.errors import SimallocError
from simalloc.heap.start import Start
from simalloc.policy import Policy
from simalloc.policy.families.ptmalloc import Ptmalloc

PAGE: Final = 4096
"""Default page size in bytes."""
ENGINES: Final = ("core", "core-portable", "reference")


class Realloc(Enum):
    """Rules for realloc events (docs/policies.md)."""

    FREE_FIRST = "free-first"
    MOVE = "move"
    IN_PLACE = "in-place"


class OnRefusal(Enum):
    """Behaviours of a program whose request is refused."""

    GO_ON = "go-on"
    STOP = "stop"


class RunKeywords(TypedDict, total=False):
    """Fields of `RunOptions` as keyword arguments, which all simulating functions accept."""

    scale: int | None
    realloc: Realloc | str | None
    page: int
    resident: bool
    largest_free: bool
    writes: bool
    occupied: Sequence[int]
    on_refusal: OnRefusal | str | None
    start: Start | None
    engine: str


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run.

    Commands and functions build it once, `resolved` adds the defaults of the policy, and the
    engines receive it unchanged. Therefore the same options produce the same figures everywhere.
    """

    scale: int | None = None
    """Factor from 1 to 4096. The policy sees every size multiplied by it, and every byte figure is
    divided by it. The default is 16 for the policies of the papers and 1 for models of real
    allocators.
    """
    realloc: Realloc | str | None = None
    """Rule for realloc events: `"free-first"`, `"move"` or `"in-place"`. Default: in place for
    policies with `mechanism=on`, else free-first."""
    page: int = PAGE
    """Page size in bytes for resident memory: a power of two from 1K to 1G."""
    resident: bool = False
    """Count the pages that were written and not returned to the system (`Run.resident`)."""
    largest_free: bool = False
    """Measure the size of the largest free block after each event (`Run.largest_free`)."""
    writes: bool = True
    """True if the program writes every byte that it requests, False if it writes none."""
    occupied: Sequence[int] = ()
    """Page sizes in bytes. For each size, the pages with at least one live byte are counted
    (`Run.occupied`)."""
    on_refusal: OnRefusal | str | None = None
    """Behaviour after a refused request. With `"go-on"` the program continues without the object;
    with `"stop"` the run ends. Default: stop for device allocators, else go-on.
    """
    start: Start | None = None
    """Heap of a process that a run of ptmalloc begins with (`Start.of(snapshot)`). The first
    allocations of the trace, one for each live block, get these blocks. Other policies place these
    allocations themselves.
    """
    engine: str = field(default="core", compare=False)
    """`"core"`, in C; `"core-portable"`, in C without vector code; or `"reference"`, in Python."""

    @property
    def exact_scale(self) -> int:
        """Scale of resolved options."""
        assert self.scale is not None, "the options are resolved"
        return self.scale

    @property
    def realloc_rule(self) -> Realloc:
        """Realloc rule of resolved options."""
        assert isinstance(self.realloc, Realloc), "the options are resolved"
        return self.realloc

    @property
    def goes_on(self) -> bool:
        """True if the program continues after a refused request, for resolved options."""
        return self.on_refusal is OnRefusal.GO_ON

    def resolved(self, policy: Policy) -> RunOptions:
        """Return these options with the defaults of a policy filled in.

        Raises `SimallocError` for a value of a wrong type or out of range.
        """
        description = policy.description
        scale = policy.scale if self.scale is None else self.scale
        check_scale(scale)
        for name, kind in _KINDS.items():
            kind.check(name, getattr(self, name))
        for size in (self.page, *self.occupied):
            check_page(size)
        realloc = Realloc.IN_PLACE if description.mechanism else Realloc.FREE_FIRST
        refusal = OnRefusal.STOP if description.stops_when_refused else OnRefusal.GO_ON
        start = self.start if isinstance(description, Ptmalloc) else None
        if start is not None and isinstance(description, Ptmalloc):
            start.check_run(description, scale)
        return replace(
            self,
            start=start,
            scale=int(description.only_scale or scale),
            realloc=_chosen("realloc rule", Realloc, self.realloc, realloc),
            occupied=tuple(self.occupied),
            on_refusal=_chosen("behaviour on refusal", OnRefusal, self.on_refusal, refusal),
        )


_KINDS: Final = {
    "page": whole(),
    "resident": FLAG,
    "largest_free": FLAG,
    "writes": FLAG,
    "occupied": Kind(
        "a list of page sizes in bytes",
        lambda value: isinstance(value, Sequence) and all(map(whole().accepts, value)),
    ),
    "start": optional(Kind("a Start", lambda value: isinstance(value, Start))),
    "engine": one_of(*ENGINES),
}
"""Expected kinds of the fields whose defaults do not depend on the policy."""

_Choice = TypeVar("_Choice", bound=Enum)


def _chosen(
    name: str, choices: type[_Choice], given: _Choice | str | None, default: _Choice
) -> _Choice:
    """Return the member of `choices` with a name; raises `SimallocError` for an unknown name."""
    if given is None:
        return default
    try:
        return choices(given)
    except ValueError:
        known = ", ".join(each.value for each in choices)
        raise SimallocError(f"unknown {name} {given!r}; choose one of {known}") from None


def check_page(page: int) -> None:
    """Raise `SimallocError` unless `page` is a power of two from 1K to 1G."""
    if not 1 << 10 <= page <= 1 << 30 or page & (page - 1):
        raise SimallocError(f"page is {page}; use a power of two from 1K to 1G, such as 4K")


def check_scale(scale: object) -> None:
    """Raise `SimallocError` unless `scale` is a whole number from 1 to 4096."""
    is_whole = isinstance(scale, (int, np.integer)) and not isinstance(scale, bool)
    if not is_whole or scale not in range(1, 4097):
        raise SimallocError(f"scale is {scale!r}; use a whole number from 1 to 4096")
