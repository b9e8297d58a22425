"""Results are stored for the columns of a trace on which a policy depends, and for no others."""

import numpy as np
import pytest
from sweep_traces import small_trace

from simalloc.errors import ResultsError
from simalloc.heap import simulate
from simalloc.policy import UserPolicy
from simalloc.sweep import Results, run_sweep
from simalloc.sweep.pivot import pivot
from simalloc.trace import Trace

ALIGNED = "best-fit-ao:memalign=on"


class SitesApart(UserPolicy):
    """Policy that depends on the sites of its trace."""

    def begin(self, trace):
        self.unit = 64 if trace.site.any() else 4096

    def malloc(self, heap, size):
        return heap.split(heap.grow(size, self.unit), size)

    def free(self, heap, block):
        heap.insert(heap.merge(block))


def with_column(name, values):
    """Return a trace with fixed events and one additional column."""
    trace = small_trace(1)
    column = np.resize(np.array(values), len(trace))
    events = trace.op, trace.object, trace.size
    return Trace.from_events(*events, name=f"{name}-{values}", **{name: column})


def test_traces_that_differ_in_alignment_alone_have_results_of_their_own(results):
    traces = [with_column("alignment", [0]), with_column("alignment", [4096])]
    for trace in traces:
        run_sweep(trace, ALIGNED, scales=[1], results=results)
    found = {row["trace"]: row["peak_heap_bytes"] for row in Results.read(results)}
    assert found == {
        trace.name: simulate(trace, ALIGNED, scale=1).peak_heap_bytes for trace in traces
    }
    assert len(set(found.values())) == 2
    assert len(run_sweep(traces, ALIGNED, scales=[1])) == 2, "in one sweep as well as in two"
    with pytest.raises(ResultsError, match="have the same events, but not the same columns"):
        pivot(Results.read(results), 4)


def test_columns_that_a_policy_does_not_look_at_make_no_difference(results):
    for values in ([0], [4096]):
        run_sweep(with_column("alignment", values), "best-fit-ao", results=results)
    run_sweep(small_trace(1), "best-fit-ao", results=results)
    assert len(Results.read(results)) == 1


def test_a_pivot_has_one_column_for_a_trace_whatever_policies_look_at(results):
    run_sweep(with_column("alignment", [64]), [ALIGNED, "best-fit-ao"], results=results)
    assert pivot(Results.read(results), 4).values.shape == (2, 1)


def test_code_in_python_may_look_at_any_column():
    traces = [with_column("site", [0]), with_column("site", [1, 2])]
    peaks = {row["trace"]: row["peak_heap_bytes"] for row in run_sweep(traces, SitesApart, jobs=1)}
    assert len(set(peaks.values())) == 2
