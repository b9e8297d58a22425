"""Call paths as a tree: top down, from main, or bottom up, from a function to its callers."""

from __future__ import annotations

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
    """Nodes of call paths; one entry per node in all sequences. A node comes after its parent.

    Node 0 is the root; it has an empty frame and the parent -1. `totals` are the sums of all paths
    through a node, by measure; they equal the sums over its children and the paths that end in the
    node. Callers are distinguished by function and have no line; the allocating frame has a line.
    """

    frames: Sequence[Frame]
    parents: NDArray[np.int64]
    totals: Mapping[str, NDArray[np.int64] | NDArray[np.float64]]
    ends: NDArray[np.int64]
    """Last node of each path of the profile."""

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
    return trees_of({"": profile}, way)[""]


def trees_of(profiles: Mapping[str, Profile], way: Way = "top-down") -> dict[str, Tree]:
    """Return the trees of profiles with the same paths. They share everything except the totals."""
    nodes: dict[tuple[int, Frame], int] = {}
    frames = [_WHOLE]
    parents = [-1]
    paths = next(iter(profiles.values())).paths
    ends = np.zeros(len(paths), np.int64)
    for number, path in enumerate(map(without_pythons_own, paths)):
        steps = [path[0], *map(_caller, path[1:])]
        node = 0
        for frame in reversed(steps) if way == "top-down" else steps:
            below = nodes.setdefault((node, frame), len(frames))
            if below == len(frames):
                frames.append(frame)
                parents.append(node)
            node = below
        ends[number] = node
    above = np.array(parents)
    levels = _levels(parents)
    return {
        name: Tree(
            frames,
            above,
            {each: _summed(values, ends, above, levels) for each, values in profile.values.items()},
            ends,
        )
        for name, profile in profiles.items()
    }


@lru_cache(maxsize=1 << 16)
def _caller(frame: Frame) -> Frame:
    return frame._replace(line=0)


def _levels(parents: Sequence[int]) -> list[NDArray[np.int64]]:
    """Return the nodes of each depth, from the root down."""
    depths = [0] * len(parents)
    for node, parent in enumerate(parents[1:], 1):
        depths[node] = depths[parent] + 1
    depth = np.array(depths)
    by_depth = np.argsort(depth, kind="stable")
    return np.split(by_depth, np.cumsum(np.bincount(depth))[:-1])


def _summed(
    values: NDArray[Any],
    ends: NDArray[np.int64],
    parents: NDArray[np.int64],
    levels: Sequence[NDArray[np.int64]],
) -> NDArray[Any]:
    """Return the sum of the paths through each node: paths that end in it or in a descendant."""
    found = np.zeros(len(parents), values.dtype)
    np.add.at(found, ends, values)
    for nodes in reversed(levels[1:]):
        np.add.at(found, parents[nodes], found[nodes])
    return found
