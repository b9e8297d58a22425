"""Every policy with too little memory, from 1 byte to more than its own tables require."""

import re

import pytest

from simalloc.errors import PolicyError
from simalloc.heap import simulate
from simalloc.policy import CATALOGUE, find_policy
from simalloc.trace import Op, Trace

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC
TRACE = Trace.from_events(
    [M, M, F, M, R, F], [1, 2, 1, 3, 2, 2], [24, 1, 0, 1000, 3000, 0], name="small"
)
CAPACITIES = sorted({*(size for power in range(28) for size in (1 << power, 3 << power >> 1))})
MIN = re.compile(r"takes at least (\d+) bytes")


ROWS = [
    f"{name}:{mechanism}"
    for name, row in CATALOGUE.items()
    if row.description.runner != "offline"
    for mechanism in ("", "mechanism=on,")
    if not mechanism or "mechanism" in row.parameters
]


def outcomes(policy):
    """Yield the results of each engine, with the heap checked after each event."""
    recorded = getattr(policy.description, "recordings", False)
    for engine in ("core",) if recorded else ("core", "reference"):
        run = simulate(TRACE, policy, engine=engine, checked=True, addresses=True)
        counted = run.counters.growths, run.counters.splits, run.counters.coalescings
        yield run.refusals, run.mapped.peak_bytes, counted, run.addresses.tolist()


@pytest.mark.parametrize("row", ROWS)
def test_it_refuses_or_says_what_it_needs(row):
    """The test stops at the first capacity that serves every request."""
    for capacity in CAPACITIES:
        try:
            policy = find_policy(f"{row}capacity={capacity}")
        except PolicyError as error:
            least = int(MIN.search(str(error))[1])
            assert capacity < least
            find_policy(f"{row}capacity={least}")
            continue
        first, *others = outcomes(policy)
        assert all(other == first for other in others), capacity
        refusals, peak, *_ = first
        assert peak <= capacity
        if not refusals.refused:
            return
    pytest.fail("no capacity is large enough")


def test_a_pool_of_tlsf_smaller_than_its_tables_refuses_everything():
    for capacity in (1, 100, 3000):
        run = simulate(TRACE, f"tlsf:mechanism=on,capacity={capacity}", checked=True)
        assert (run.refused, run.finished, run.peak_heap_bytes) == (4 - 1, True, 0)
        assert run.refusals.largest_free_bytes == 0


def test_the_engines_agree_on_a_heap_whose_malloc_ends():
    """The largest free block and the counters remain as before the event."""
    for policy in ("tcmalloc:capacity=1M", "jemalloc:capacity=4M", "musl:capacity=6000"):
        core, reference = (
            simulate(TRACE, policy, engine=engine) for engine in ("core", "reference")
        )
        assert core.refusals == reference.refusals
        assert core.refusals.stopped
        assert core.refusals.largest_free_bytes == core.capacity_bytes, "it has mapped nothing yet"


def test_a_free_that_needs_a_table_ends_the_run():
    """The 513th free block of SunOS' malloc requires another array of 512 nodes."""
    count = 1100
    op = [M] * count + [F] * (count // 2)
    trace = Trace.from_events(op, [*range(count), *range(0, count, 2)], [24] * count + [0] * 550)
    policy = "sunos-cartesian:mechanism=on,growth=1,capacity={}"
    whole = simulate(trace.prefix(count), policy.format(0), scale=1).peak_heap_bytes
    core, reference = (
        simulate(trace, policy.format(int(whole)), scale=1, engine=engine, checked=True)
        for engine in ("core", "reference")
    )
    assert core.refusals == reference.refusals
    assert (core.events, core.finished) == (reference.events, False)
    assert core.events == count + 512


def test_an_offline_placement_takes_no_capacity():
    with pytest.raises(PolicyError, match="refuses no request"):
        find_policy("best-possible:capacity=10")
