"""Policies that use call sites: both engines agree, and the page shows the results."""

import io
from pathlib import Path

import numpy as np
import pytest

from docs.examples.site_policies import LifetimeArenas, TwoEnds
from experiments.sites.measuring import PROGRAMS, Measured, heaps_of, path_of
from experiments.sites.page import tables
from simalloc.heap import simulate
from simalloc.measure.sites.lifetimes import predicted_young
from simalloc.report import write_table
from simalloc.trace import Op, Trace
from simalloc.trace.catalogue import load

PAGE = (Path(__file__).parents[3] / "docs" / "sites-policies.md").read_text("utf-8")
POLICIES = [TwoEnds, LifetimeArenas]


def beginning(name, events=3000):
    return load(str(path_of(name))).prefix(events)


@pytest.mark.parametrize("policy", POLICIES)
def test_both_engines_place_alike(policy):
    trace, one = beginning("jq-b"), policy(by="stack", training=str(path_of("jq-a")))
    runs = [
        simulate(trace, one, scale=1, addresses=True, engine=each) for each in ("core", "reference")
    ]
    assert np.array_equal(runs[0].addresses, runs[1].addresses)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_heap_is_right_after_each_event(policy):
    trace = beginning("sqlite-a", 1500)
    simulate(
        trace, policy(by="stack", arena=512) if policy is LifetimeArenas else policy(), scale=1
    )


def test_arenas_are_filled_from_their_low_end_and_used_again():
    """Objects of site 1 die at once. The object of site 2 stays live, after the arenas."""
    op = [Op.MALLOC, Op.MALLOC, Op.FREE, Op.MALLOC, Op.FREE, Op.MALLOC, Op.FREE]
    trace = Trace.from_events(
        op, [0, 1, 1, 2, 2, 3, 3], [40, 60, 0, 60, 0, 60, 0], site=[2, 1, 0, 1, 0, 1, 0]
    )
    policy = LifetimeArenas(arena=100, arenas=2, growth=1)
    run = simulate(trace, policy, scale=1, addresses=True)
    assert run.addresses[[0, 1, 3, 5]].tolist() == [0, 40, 40, 40]
    assert run.peak_heap_bytes == 240


def run_of(lives, names):
    """Return a run with one object per (site, size, lives long); long-lived ones stay live."""
    op, number, size, site = [], [], [], []
    for object_, (where, asked, stays) in enumerate(lives):
        op.append(Op.MALLOC)
        number.append(object_)
        size.append(asked)
        site.append(where)
        if not stays:
            op.append(Op.FREE)
            number.append(object_)
            size.append(0)
            site.append(0)
    return Trace.from_events(op, number, size, site=site, provenance={"sites": names})


def test_sites_are_known_again_by_their_names():
    """Site numbers do not matter. A site without training is not predicted to die young."""
    paths = ["xmalloc (u.c:1) < f (f.c:2) < a (a.c:3)", "xmalloc (u.c:1) < f (f.c:2) < b (b.c:4)"]
    training = run_of([(1, 8, False), (2, 8, True)], ["", *paths])
    trace = run_of([(1, 8, False), (2, 8, False), (3, 8, False)], ["", *paths[::-1], "new"])
    born = trace.op == Op.MALLOC
    flags = {
        by: predicted_young(training, trace, by, 100)[born].tolist()
        for by in ("size", "site", "stack")
    }
    assert flags["stack"] == [False, True, False]
    assert flags["site"] == [False, False, False], "one of two at this line lived long"
    half = predicted_young(training, trace, "site", 100, 0.5)[born].tolist()
    assert half == [True, True, False]
    assert flags["size"] == [False, False, False]


@pytest.mark.parametrize("table", ["heaps", "predictions"])
def test_the_page_has_what_is_measured(table):
    program = PROGRAMS[0]
    measured = Measured([heaps_of(f"{program}-a", f"{program}-b")], [])
    shown = io.StringIO()
    write_table(tables(measured)[table], "markdown", shown)
    assert shown.getvalue().splitlines()[-1] in PAGE.splitlines(), "python -m experiments.sites"
