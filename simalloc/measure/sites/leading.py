"""The call sites with the most bytes, few enough for a colour each, and their live bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.measure.sites.frames import Frame
from simalloc.measure.sites.profile import Profile, rows_of
from simalloc.measure.sites.usage import sites_of, stays
from simalloc.trace import Trace

SHOWN: Final = 6
"""Maximum number of colours that all people can distinguish."""


@dataclass(frozen=True, eq=False)
class Leading:
    """Lines of code that allocate; group `len(frames)` contains all other lines."""

    frames: Sequence[Frame]
    group: NDArray[np.int64]
    """Group of each site, by the site's number."""

    @property
    def groups(self) -> int:
        """Number of groups, including the group of all others."""
        return len(self.frames) + 1


def leading_of(profile: Profile, sites: int) -> Leading:
    """Return the lines with the most live bytes at the peak and, under a policy, wasted bytes.

    The rank of a line is the sum of its two shares.
    """
    rows = rows_of(profile, "site", "live_bytes")
    names = [name for name in ("live_bytes", "wasted_bytes") if name in profile.values]
    whole = {name: profile.total(name) or 1.0 for name in names}
    rows.sort(key=lambda row: -sum(row.values[name] / whole[name] for name in names))
    shown = rows[:SHOWN]
    group = np.full(sites, len(shown))
    for place, row in enumerate(shown):
        group[list(row.sites)] = place
    return Leading([row.frame for row in shown], group)


def live_by_group(
    trace: Trace, leading: Leading, points: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return events, and the live bytes of each group after them: (points,), (groups, points).

    The events are evenly spaced, and include the last event and the peak of live bytes.
    """
    column = sites_of(trace)
    start, end = stays(trace)
    peak = int(np.argmax(trace.replayed.live))
    even = np.linspace(0, len(trace) - 1, min(points, len(trace))).astype(np.int64)
    shown = np.unique(np.append(even, peak))
    group = leading.group[column[start]]
    found = np.zeros((leading.groups, len(shown)), np.int64)
    for each, row in enumerate(found):
        mine = group == each
        size = trace.size[start[mine]]
        for sign, event in ((1, start[mine]), (-1, end[mine])):
            at = np.searchsorted(shown, event)  # first point at or after the event
            np.add.at(row, at[at < len(shown)], sign * size[at < len(shown)])
        row.cumsum(out=row)
    return shown, found
