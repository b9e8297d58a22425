"""Requested and held bytes of every call path, and their sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.heap import Run
from simalloc.heap.quantity import Quantity
from simalloc.measure.sites.frames import Frame, call_paths, common_frame, folded
from simalloc.measure.sites.holding import At, held_under
from simalloc.measure.sites.usage import usage_of
from simalloc.memory import require_memory
from simalloc.plural import counted
from simalloc.policy import AnyPolicy
from simalloc.shown import ShownAsTable
from simalloc.trace import Trace

ASKED: Final[Mapping[str, str]] = {
    "live_bytes": "live at the peak of live bytes",
    "final_bytes": "live at the end",
    "allocated_bytes": "allocated in the whole trace",
    "allocations": "allocations in the whole trace",
    "never_freed": "allocations that are live at the end",
    "temporary": "allocations that the very next event frees",
}
"""Measures of a site without a policy, with their descriptions."""

HELD: Final[Mapping[str, str]] = {
    "pinned_bytes": "free bytes that only this code pins",
    "shared_bytes": "its share of the free bytes that several functions pin",
    "wasted_bytes": "pinned and shared bytes together",
    "rounding_bytes": "bytes of its blocks beyond the requested bytes",
}
"""Measures of a site under a policy, with their descriptions."""

_EVENT_BYTES: Final = 110
"""Resident bytes for each event of a trace in memory, including the lives of its objects."""

By = Literal["function", "site", "stack"]
"""The unit of a row: a function, a line that allocates, or a whole call path."""


@dataclass(frozen=True, eq=False)
class Profile(ShownAsTable):
    """Call paths, innermost frame first, with their measures; one entry per path in all sequences.

    `values` has an array for each measure, int64, or float64 for the measures in `HELD`. The
    entries of an array add up to the value of the whole trace, or of the whole heap. `lived_events`
    is the sum of the lifetimes of the freed blocks.
    """

    paths: Sequence[Sequence[Frame]]
    """Call paths without allocation wrappers."""
    stacks: Sequence[Sequence[Frame]]
    """Call paths with allocation wrappers."""
    sites: Sequence[int]
    """Numbers of the sites in the trace."""
    values: Mapping[str, NDArray[np.int64] | NDArray[np.float64]]
    event: int | None = None
    """Event after which the held bytes were measured, or None without a policy."""

    def __len__(self) -> int:
        return len(self.paths)

    def __repr__(self) -> str:
        return f"<Profile: {counted(len(self), 'call path')}>"

    @property
    def measures(self) -> list[str]:
        """The available measures of `ASKED` and `HELD`."""
        return [name for name in (*HELD, *ASKED) if name in self.values]

    def total(self, measure: str) -> float:
        """Return the sum over all paths."""
        return float(self.values[measure].sum())

    def sites_in(self, function: str) -> list[int]:
        """Return the sites of a function. Raises `SimallocError` if it has none."""
        paths = zip(self.paths, self.sites, strict=True)
        found = [site for path, site in paths if path[0].function == function]
        if not found:
            raise SimallocError(f"no call site is in a function {function!r}")
        return found

    def where(self, keeps: Callable[[Sequence[Frame]], bool]) -> Profile:
        """Return the paths that satisfy a condition."""
        chosen = [place for place, path in enumerate(self.paths) if keeps(path)]
        return Profile(
            [self.paths[place] for place in chosen],
            [self.stacks[place] for place in chosen],
            [self.sites[place] for place in chosen],
            {name: values[chosen] for name, values in self.values.items()},
            self.event,
        )


@dataclass(frozen=True)
class Row:
    """A function, a line of it or a call path, and the sums of its measures.

    `stack` is the recorded call path with the largest value of the measure by which rows are
    sorted. The line of `frame` is 0 if the row is a function that allocates at several lines.
    """

    frame: Frame
    stack: Sequence[Frame]
    sites: Sequence[int]
    values: Mapping[str, float]

    @property
    def lifetime(self) -> float | None:
        """Mean number of events until a block is freed or reallocated, or None if no block is."""
        freed = self.values["allocations"] - self.values["never_freed"]
        return self.values["lived_events"] / freed if freed else None


def profile_of(
    trace: Trace,
    policy: AnyPolicy | Run | None = None,
    *,
    at: At = "worst",
    of: Quantity = "mapped",
    page: int = 4096,
    wrappers: Sequence[str] | None = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Profile:
    """Return the requests of each call path of a trace, and the bytes that it holds under a policy.

    Allocation wrappers and functions that match one of the patterns `wrappers` are skipped at the
    inner ends of paths; None skips no function. `at`, `of`, `page`, `progress` and errors
    are as in `held_under`. Raises `SimallocError` also if the lives of the trace need more memory
    than is permitted.
    """
    require_memory(len(trace) * _EVENT_BYTES, f"{trace.name}: the lives of its objects")
    usage = usage_of(trace)
    used = np.flatnonzero(usage.allocations)
    values: dict[str, NDArray[np.int64] | NDArray[np.float64]] = {
        name: getattr(usage, name)[used] for name in (*ASKED, "lived_events")
    }
    event = None
    if policy is not None:
        held = held_under(trace, policy, at=at, of=of, page=page, progress=progress)
        event = held.event
        values |= {
            "pinned_bytes": held.pinned_bytes[used],
            "shared_bytes": held.shared_bytes[used],
            "wasted_bytes": (held.pinned_bytes + held.shared_bytes)[used],
            "rounding_bytes": held.rounding_bytes[used],
        }
    stacks = call_paths(trace.provenance, used.tolist())
    paths = stacks if wrappers is None else [folded(stack, wrappers) for stack in stacks]
    return Profile(paths, stacks, used.tolist(), values, event)


def rows_of(profile: Profile, by: By, measure: str) -> list[Row]:
    """Return the sums by function, by line or by path, in descending order of a measure."""
    together: dict[tuple[Frame, ...], list[int]] = {}
    for place in np.argsort(-profile.values[measure], kind="stable").tolist():
        together.setdefault(_key(profile.paths[place], by), []).append(place)
    rows = [
        Row(
            common_frame(profile.paths[place][0] for place in places),
            profile.stacks[places[0]],
            [profile.sites[place] for place in places],
            {name: values[places].sum().item() for name, values in profile.values.items()},
        )
        for places in together.values()
    ]
    second = "wasted_bytes" if "wasted_bytes" in profile.values else "final_bytes"
    return sorted(rows, key=lambda row: (-row.values[measure], -row.values[second]))


def _key(path: Sequence[Frame], by: By) -> tuple[Frame, ...]:
    if by == "function":
        return (path[0]._replace(line=0),)
    return (path[0],) if by == "site" else tuple(path)
