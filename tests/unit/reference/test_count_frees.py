"""`count_frees`: searches for a freed block's position, by hand and in the core."""

import pytest

from simalloc.heap import simulate
from simalloc.heap.reference import heap_for
from simalloc.policy import HEAP_POLICIES, find_policy
from simalloc.policy.families.address_trees import AddressTrees
from simalloc.policy.families.segregated_fit import SegregatedFit
from simalloc.trace import Op, Trace
from simalloc.trace.catalogue import load

TRACE = load("p2c")
ORDERED = ("first-fit-ao", "next-fit-ao", "best-fit-ao")


def holes_at(name, *numbers):
    """Fill a heap with twenty blocks of 100 bytes and free some."""
    heap = heap_for(find_policy(f"{name}:growth=1000").description)
    addresses = [heap.malloc(100) for _ in range(20)]
    for number in numbers:
        heap.free(addresses[number])
    return heap, addresses


@pytest.mark.parametrize("name", ["first-fit-ao", "best-fit-ao"])
def test_a_walk_from_the_front_ends_at_the_block_above(name):
    heap, addresses = holes_at(name, 4, 8, 12)
    visited = {number: heap.walk_to(addresses[number]) for number in (2, 5, 9, 15)}
    assert visited == {2: 1, 5: 2, 9: 3, 15: 3}  # no free block is above 15: all are visited
    assert holes_at(name)[0].walk_to(addresses[3]) == 0


def test_a_walk_from_the_rover_goes_round_the_end():
    heap, addresses = holes_at("next-fit-ao", 4, 8, 12)
    assert heap.rover == addresses[4]  # the first block to enter the empty list
    assert [heap.walk_to(addresses[number]) for number in (5, 9, 15, 2)] == [2, 3, 1, 1]
    assert heap.malloc(50) == addresses[4]
    assert heap.malloc(60) == addresses[8]
    assert heap.rover == addresses[8] + 60
    assert [heap.walk_to(addresses[number]) for number in (9, 15, 2, 5)] == [2, 3, 3, 1]


@pytest.mark.parametrize("name", ["first-fit-lifo", "next-fit-fifo", "best-fit-lifo"])
def test_lists_by_time_are_not_walked(name):
    heap, addresses = holes_at(name, 4, 8, 12)
    assert heap.walk_to(addresses[6]) == 0


def test_a_block_may_get_the_number_of_one_that_was_trimmed_meanwhile():
    """A cached piece before an aligned object is trimmed; the piece behind it gets its number."""
    op = [Op.MALLOC, Op.MALLOC, Op.MALLOC, Op.FREE, Op.MALLOC, Op.MALLOC, Op.FREE]
    size, alignment = [17, 2046, 100, 0, 159, 200, 0], [0, 0, 16, 0, 16, 3, 0]
    trace = Trace.from_events(op, [0, 1, 2, 2, 3, 4, 4], size, alignment=alignment)
    text = "first-fit-ao:growth=64,minimum_split=7,count_tail=off,trim=48,mechanism=on,quick=100"
    runs = [
        simulate(trace, f"{text},count_frees=on,memalign=on", scale=1, engine=engine)
        for engine in ("core", "reference")
    ]
    assert runs[0].counters == runs[1].counters
    assert runs[0].counters.visited_at_free_worst == 1


def test_of_three_frees_one_coalesces():
    trace = Trace.from_events(
        [Op.MALLOC] * 4 + [Op.FREE] * 3, [0, 1, 2, 3, 0, 2, 1], [10, 10, 10, 10, 0, 0, 0]
    )
    for engine in ("core", "reference"):
        run = simulate(trace, "first-fit-ao:growth=40,count_frees=on", scale=1, engine=engine)
        assert run.counters.coalescings == 2
        assert run.counters.coalescing_frees == 1
        assert run.counters.visited_at_free_mean == pytest.approx((0 + 1 + 2) / 3)
        assert run.counters.visited_at_free_worst == 2


@pytest.mark.parametrize("name", ORDERED)
def test_the_rank_is_the_walk_in_a_real_program(name):
    trace = TRACE.prefix(4000)
    text = f"{name}:count_frees=on,trim=4K,cache=2"
    core, reference = (
        simulate(trace, text, engine=engine).counters for engine in ("core", "reference")
    )
    assert core == reference
    assert core.visited_at_free_worst > 8


@pytest.mark.parametrize("name", sorted(HEAP_POLICIES.keys() - {"best-possible", "pymalloc"}))
def test_counting_changes_nothing_else(name):
    description = find_policy(name).description
    trace = TRACE.prefix(1000)
    plain, counted = (
        simulate(trace, f"{name}:count_frees={switch}", addresses=True) for switch in ("off", "on")
    )
    assert (plain.addresses == counted.addresses).all()
    assert plain.peak_heap_bytes == counted.peak_heap_bytes
    assert plain.counters.visited_mean == pytest.approx(counted.counters.visited_mean, nan_ok=True)
    if isinstance(description, (AddressTrees, SegregatedFit)):
        assert plain.counters == counted.counters  # these are counted without the option, too
    else:
        assert counted.counters.coalescing_frees <= counted.counters.coalescings
