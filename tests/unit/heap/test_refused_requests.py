"""Refused requests, in both engines: their effects, and their counts in a run."""

import numpy as np
import pytest

from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.measure import waste
from simalloc.policy import UserPolicy
from simalloc.trace import Op, Trace

ENGINES = ("core", "core-portable", "reference")
M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC
REFUSED = -2


def trace_of(*events):
    return Trace.from_events(*zip(*events, strict=True), name="t")


def run_of(trace, policy, engine, **options):
    options = {"scale": 1, "realloc": "move", "checked": True, "addresses": True} | options
    return simulate(trace, policy, engine=engine, **options)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_goes_on_without_an_object(engine):
    trace = trace_of((M, 1, 60), (M, 2, 50), (R, 2, 10), (F, 2, 0), (M, 3, 40), (F, 1, 0))
    run = run_of(trace, "first-fit-ao:growth=1,capacity=100", engine)
    assert run.addresses.tolist() == [0, REFUSED, -1, -1, 60, -1]
    assert (run.refused, run.first_refused_event, run.finished) == (1, 2, True)
    assert run.refusals.largest_free_bytes == 40, "what can still be mapped"
    assert (run.max_live_bytes, run.final_live_bytes, run.peak_heap_bytes) == (100, 40, 100)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rule", ["free-first", "move", "in-place"])
def test_a_refused_realloc_leaves_the_object(engine, rule):
    trace = trace_of((M, 1, 60), (R, 1, 200), (M, 2, 30), (F, 1, 0), (M, 3, 60))
    run = run_of(trace, "first-fit-ao:growth=1,capacity=100", engine, realloc=rule)
    assert run.addresses.tolist() == [0, REFUSED, 60, -1, 0]
    assert (run.refused, run.final_live_bytes) == (1, 90)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_capacity_is_in_bytes_of_the_program(engine):
    trace = trace_of((M, 1, 60), (M, 2, 40), (M, 3, 1))
    for scale in (1, 16):
        run = run_of(trace, "first-fit-ao:growth=1,capacity=100", engine, scale=scale)
        assert (run.refused, run.capacity_bytes, run.peak_heap_bytes) == (1, 100, 100)


@pytest.mark.parametrize("engine", ENGINES)
def test_headers_and_tables_count(engine):
    trace = trace_of((M, 1, 100))
    tlsf = "tlsf:mechanism=off,header=8,capacity=107"
    assert run_of(trace, tlsf, engine).refused == 1
    assert run_of(trace, tlsf.replace("107", "108"), engine).refused == 0
    # 4.4BSD's first page has no header and is followed by a page of blocks.
    assert run_of(trace, "ultrix:mechanism=on,capacity=2K", engine).refused == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_limit_of_the_allocator_refuses_without_a_capacity(engine):
    size = 499_713
    trace = trace_of(*((M, object_, size) for object_ in range(5)), (F, 4, 0), (F, 0, 0))
    run = run_of(trace, "tcmalloc:heap_limit_mb=10", engine)
    assert run.addresses.tolist()[3:] == [REFUSED, REFUSED, -1, -1]
    assert (run.refused, run.first_refused_event) == (2, 4)
    assert (run.max_live_bytes, run.final_live_bytes) == (3 * size, 2 * size)


@pytest.mark.parametrize("engine", ENGINES)
def test_cached_blocks_serve_a_full_heap(engine):
    trace = trace_of((M, 1, 60), (M, 2, 40), (F, 1, 0), (M, 3, 60), (M, 4, 30))
    run = run_of(trace, "first-fit-ao:growth=1,quick=64,capacity=100", engine)
    assert run.addresses.tolist() == [0, 60, -1, 0, REFUSED]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_can_end_with_a_refused_request(engine):
    trace = trace_of((M, 1, 60), (M, 2, 50), (F, 1, 0))
    run = run_of(trace, "best-fit-ao:growth=1,capacity=100", engine, on_refusal="stop")
    assert (run.events, run.finished, run.refused) == (2, False, 1)
    with pytest.raises(SimallocError, match="ran out of memory at event 2;"):
        waste(trace, run)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("policy", ["ptmalloc", "jemalloc", "tcmalloc", "mimalloc", "musl"])
def test_a_malloc_without_memory_for_its_tables_ends(engine, policy):
    run = run_of(trace_of((M, 1, 60), (F, 1, 0)), f"{policy}:capacity=100", engine)
    assert run.peak_heap_bytes <= 100
    assert run.first_refused_event == 1
    assert run.final_live_bytes == 0


class WorstFit(UserPolicy):
    """Policy that uses the largest block."""

    def malloc(self, heap, size):
        return heap.split(heap.worst_fit(size) or heap.grow(size), size)

    def free(self, heap, block):
        heap.insert(heap.merge(block))


class Small(WorstFit):
    """Worst fit for small objects only."""

    def malloc(self, heap, size):
        return None if size > 30 else super().malloc(heap, size)


@pytest.mark.parametrize("engine", ENGINES)
def test_policies_in_python_refuse(engine):
    trace = trace_of((M, 1, 60), (M, 2, 30), (M, 3, 20), (F, 1, 0), (F, 3, 0), (M, 4, 10))
    from simalloc.policy.user.policy import policy_of  # noqa: PLC0415 - makes rows of classes

    limited = policy_of(WorstFit).with_parameters(capacity=100)
    assert limited.spelled(None).endswith("WorstFit:capacity=100")
    run = run_of(trace, limited, engine)
    assert run.addresses.tolist() == [0, 60, REFUSED, -1, -1, 0]
    small = run_of(trace, Small, engine)
    assert small.addresses.tolist() == [REFUSED, 0, 30, -1, -1, 30]


def test_a_huge_object_of_an_ended_thread_is_not_resident_once_freed():
    """In mimalloc 2.0.9, a thread without a heap frees the object after its owner's exit."""
    huge = 200 << 20
    trace = Trace.from_events(
        [M, Op.THREAD_END, F, M], [0, -1, 0, 1], [huge, 0, 0, 8], thread=[1, 1, 2, 2]
    )
    core, reference = (
        simulate(trace, "mimalloc:version=2.0.9", engine=engine, resident=True).resident
        for engine in ("core", "reference")
    )
    assert core == reference
    assert core.final_bytes < 1 << 20
    assert np.isclose(core.mean_bytes, reference.mean_bytes)
