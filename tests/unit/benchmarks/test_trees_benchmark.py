"""benchmarks.trees on a short trace: every policy is there, and what it searches."""

from benchmarks.trees import LISTS, policies, replay, table
from simalloc.trace.catalogue import load


def test_a_row_for_each_policy():
    trace = load("make").prefix(2000)
    rows = table(trace, replay(trace, 1)).rows
    assert [row[0] for row in rows] == list(policies())
    assert set(LISTS) < set(policies())
    searched = {row[0]: float(row[4]) for row in rows}
    assert searched["first-fit-lifo"] == 0 < searched["abt-ff"]
