"""Call paths of a deep recursion: the shared parts of the sites' paths are read once."""

from dataclasses import replace

import numpy as np
import pytest

from simalloc.measure.sites import profile_of, tree_of, trees_of
from simalloc.measure.sites.frames import Frame, call_path, call_paths, short_name, short_names
from simalloc.trace import Trace

DEPTH = 180
STACKS = {
    "places": [[], [["f", "a.c", 3]], [["inlined", "b.c", 4], ["g", "", 0]], []],
    "parent": [0, *range(DEPTH)],
    "place": [0, *(1 + site % 3 for site in range(DEPTH))],
}


@pytest.fixture
def trace():
    return Trace.from_events(
        [0] * DEPTH,
        range(DEPTH),
        [8] * DEPTH,
        provenance={"stacks": STACKS},
        site=np.arange(DEPTH, dtype=np.uint32),
    )


def test_paths_of_many_sites_are_those_of_each(trace):
    sites = [0, DEPTH, 7, DEPTH + 5, *range(DEPTH)]
    paths = call_paths(trace.provenance, sites)
    assert paths == [call_path(trace.provenance, site) for site in sites]
    assert len(paths[1]) == DEPTH


def test_no_names_are_no_paths():
    assert call_paths({}, [0, 4]) == [[Frame("unknown")], [Frame("site 4")]]


def test_short_names_of_many_sites_are_those_of_each():
    provenance = {"stacks": STACKS}
    sites = [7, DEPTH + 5, *range(1, DEPTH)]
    assert short_names(provenance, sites) == [short_name(provenance, site) for site in sites]
    assert short_names(provenance, [0]) == [""]


@pytest.mark.parametrize("way", ["top-down", "bottom-up"])
def test_trees_of_several_profiles_are_those_of_each(way, trace):
    profile = profile_of(trace)
    other = replace(profile, values={"live_bytes": np.arange(DEPTH) * 0.5})
    trees = trees_of({"one": profile, "other": other}, way)
    assert trees["one"].frames is trees["other"].frames
    for name, each in {"one": profile, "other": other}.items():
        alone = tree_of(each, way)
        assert trees[name].frames == alone.frames
        assert trees[name].totals.keys() == each.values.keys()
        for measure, values in each.values.items():
            assert trees[name].totals[measure].tolist() == alone.totals[measure].tolist()
            assert trees[name].totals[measure].tolist() == through_nodes(alone, values)


def through_nodes(tree, values):
    """Return the sums of values over the paths through each node, path by path."""
    found = [0] * len(tree)
    for end, value in zip(tree.ends.tolist(), values.tolist(), strict=True):
        node = end
        while node >= 0:
            found[node] += value
            node = tree.parents[node]
    return found
