"""Call paths of a deep recursion: what sites share of their paths is read once."""

import numpy as np

from simalloc.measure.sites.frames import Frame, call_path, call_paths
from simalloc.trace import Trace

DEPTH = 180
STACKS = {
    "places": [[], [["f", "a.c", 3]], [["inlined", "b.c", 4], ["g", "", 0]], []],
    "parent": [0, *range(DEPTH)],
    "place": [0, *(1 + site % 3 for site in range(DEPTH))],
}


def test_paths_of_many_sites_are_those_of_each():
    trace = Trace.from_events(
        [0] * DEPTH,
        range(DEPTH),
        [8] * DEPTH,
        provenance={"stacks": STACKS},
        site=np.arange(DEPTH, dtype=np.uint32),
    )
    sites = [0, DEPTH, 7, DEPTH + 5, *range(DEPTH)]
    paths = call_paths(trace.provenance, sites)
    assert paths == [call_path(trace.provenance, site) for site in sites]
    assert len(paths[1]) == DEPTH


def test_no_names_are_no_paths():
    assert call_paths({}, [0, 4]) == [[Frame("unknown")], [Frame("site 4")]]
