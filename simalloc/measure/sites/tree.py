"""Call paths as a tree: top down, from main, or bottom up, from a function to its callers."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from simalloc.measure.sites.frames import Frame, without_pythons_own

if TYPE_CHECKING:
    from simalloc.measure.sites.profile import Profile

Way = Literal["top-down", "bottom-up"]

_WHOLE: Final = Frame("")


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes of call paths; an entry a node everywhere, and a node comes after its parent.

    Node 0 is the whole; it has no frame (an empty one) and the parent -1. `totals` are the sums of
    all paths through a node, by measure; they equal the sums over its children and the paths that
    end in the node. Callers are distinguished by function and have no line; the allocating frame
    has one.
    """

    frames: Sequence[Frame]
    parents: NDArray[np.int64]
    totals: Mapping[str, NDArray[np.int64] | NDArray[np.float64]]
    ends: NDArray[np.int64]
    """The node that each path of the profile ends with."""

    def __len__(self) -> int:
        return len(self.frames)

    def children(self) -> list[list[int]]:
        """Return the children of each node."""
        found: list[list[int]] = [[] for _ in self.frames]
        for node, parent in enumerate(self.parents[1:].tolist(), 1):
            found[parent].append(node)
        return found


def tree_of(profile: Profile, way: Way = "top-down") -> Tree:
    """Return the paths of a profile as a tree, without callers in Python's import system."""
    nodes: dict[tuple[int, Frame], int] = {}
    frames = [_WHOLE]
    parents = [-1]
    at, of = array("q"), array("q")  # a node, and the number of a path through it
    ends = np.zeros(len(profile), np.int64)
    for number, path in enumerate(map(without_pythons_own, profile.paths)):
        steps = [path[0], *map(_caller, path[1:])]
        node = 0
        at.append(node)
        of.append(number)
        for frame in reversed(steps) if way == "top-down" else steps:
            below = nodes.setdefault((node, frame), len(frames))
            if below == len(frames):
                frames.append(frame)
                parents.append(node)
            node = below
            at.append(node)
            of.append(number)
        ends[number] = node
    nodes_at, paths = np.frombuffer(at, np.int64), np.frombuffer(of, np.int64)
    return Tree(
        frames,
        np.array(parents),
        {
            name: _summed(values[paths], nodes_at, len(frames))
            for name, values in profile.values.items()
        },
        ends,
    )


@lru_cache(maxsize=1 << 16)
def _caller(frame: Frame) -> Frame:
    return frame._replace(line=0)


def _summed(values: NDArray[Any], at: NDArray[np.int64], count: int) -> NDArray[Any]:
    found = np.zeros(count, values.dtype)
    np.add.at(found, at, values)
    return found
