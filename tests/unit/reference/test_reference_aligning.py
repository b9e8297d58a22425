"""Requested alignments, computed by hand, and the messages for impossible alignments."""

import pytest

from simalloc.errors import PolicyError, SimallocError
from simalloc.heap import Realloc, simulate, simulate_all
from simalloc.heap.reference import replay
from simalloc.policy import CATALOGUE, HEAP_POLICIES, Fit, Order, find_policy
from simalloc.policy.families.binary_buddy import BinaryBuddy
from simalloc.policy.families.lea import Lea
from simalloc.policy.families.phk import Phk
from simalloc.policy.families.segregated_fit import SegregatedFit
from simalloc.policy.families.sequential_fit import SequentialFit
from simalloc.policy.families.solaris import Solaris
from simalloc.trace import Trace

M, F, R = 0, 1, 2


def asking(*requests):
    """Return a trace that allocates an object for each (size, alignment)."""
    size, alignment = zip(*requests, strict=True)
    return Trace.from_events([M] * len(size), range(len(size)), size, alignment=alignment)


def addresses(description, trace, **options):
    """Return the addresses of the objects, with the heap verified after each event."""
    return replay(trace, description, check=True, **{"scale": 1} | options).addresses.tolist()


def test_what_is_over_in_front_and_behind_is_given_back():
    first_fit = SequentialFit(Fit.FIRST, Order.ADDRESS, growth=1000, memalign=True)
    trace = asking((10, 0), (100, 64), (54, 0), (20, 0))
    found = replay(trace, first_fit, scale=1, check=True)
    assert found.addresses.tolist() == [0, 64, 10, 164]
    # Two blocks are cut from the last block, and 164 bytes are freed at both ends; one block fits.
    assert found.splits == 5
    assert found.allocated.tolist() == [10, 110, 164, 184]


def test_no_piece_is_smaller_than_may_be_split_off():
    first_fit = SequentialFit(
        Fit.FIRST, Order.ADDRESS, growth=1000, minimum_split=60, memalign=True
    )
    # The 54 bytes before address 64 are too few to split off; the remainder behind would be
    # allowed.
    assert addresses(first_fit, asking((10, 0), (100, 64))) == [0, 128]


def test_the_alignment_of_all_blocks_is_had_anyway():
    first_fit = SequentialFit(Fit.FIRST, Order.ADDRESS, growth=1008, alignment=16, memalign=True)
    found = replay(asking((10, 0), (10, 8), (10, 16)), first_fit, scale=1)
    assert found.addresses.tolist() == [0, 16, 32]
    assert found.coalescings == 0


def test_no_alignment_is_had_anyway_that_the_heap_does_not_grow_by():
    unmerged = SegregatedFit(growth=1000, alignment=16, memalign=True)
    # 512 of 1000 bytes are used and 488 left, so that the next block begins at 1000 = 62.5 * 16.
    assert addresses(unmerged, asking((500, 0), (500, 8))) == [0, 1000]
    assert addresses(unmerged, asking((500, 0), (500, 16))) == [0, 1024]


def test_cells_lie_at_multiples_of_what_they_are_made_of():
    cells = Solaris(header=4, alignment=16, memalign=True)
    found = addresses(cells, asking((1, 0), (1, 0), (1, 16)))
    assert found[1] % 16
    assert found[2] % 16 == 0


def test_a_scale_is_one_of_alignments_too():
    first_fit = SequentialFit(Fit.FIRST, Order.ADDRESS, memalign=True)
    assert addresses(first_fit, asking((1, 0), (1, 2)), scale=16) == [0, 32]


def test_blocks_of_a_buddy_lie_at_multiples_of_their_sizes():
    assert addresses(BinaryBuddy(memalign=True), asking((1, 0), (1, 256), (1, 0))) == [0, 256, 16]
    with pytest.raises(SimallocError, match=r"event 0 .* larger than the policy supports"):
        addresses(BinaryBuddy(memalign=True), asking((1, 24)))


def test_pages_are_given_back_around_what_asks_for_more_than_a_page():
    found = addresses(Phk(memalign=True), asking((4096, 0), (1, 64), (5000, 16384), (12288, 0)))
    assert found == [0, 4096, 16384, 24576]


def test_a_segment_of_its_own_begins_where_it_is_asked():
    lea = Lea(map_from=100_000, memalign=True)
    found = addresses(lea, asking((100_000, 0), (100_000, 65536)))
    assert [address % 65536 for address in found] == [0, 0]
    assert found[1] - found[0] == 131072


def test_a_block_as_small_as_a_cell_but_cut_from_a_larger_one_is_none():
    columns = [M, R], [0, 0], [14, 3000]
    trace = Trace.from_events(*columns, alignment=[64, 0])
    solaris = Solaris(header=100, memalign=True)
    assert addresses(solaris, trace, realloc=Realloc.IN_PLACE) == [0, 0]


def test_a_realloc_asks_for_nothing():
    columns = [M, F, M, R], [0, 0, 1, 1], [10, 0, 10, 600]
    trace = Trace.from_events(*columns, alignment=[0, 64, 0, 64])
    plain = Trace.from_events(*columns)
    first_fit = SequentialFit(Fit.FIRST, Order.ADDRESS, memalign=True)
    assert addresses(first_fit, trace) == addresses(first_fit, plain)


def test_nothing_is_served_unless_that_is_wanted():
    trace = asking((10, 0), (100, 64))
    unasked = [
        name for name, row in HEAP_POLICIES.items() if "alignment" not in row.description.columns
    ]
    for name in unasked:
        assert (
            simulate(trace, name).peak_heap_bytes
            == simulate(asking((10, 0), (100, 0)), name).peak_heap_bytes
        )


def test_policies_that_cannot_say_so():
    cannot = {name for name in HEAP_POLICIES if CATALOGUE[name].description.aligning is None}
    assert {"kingsley", "double-buddy", "quick-fit", "bw-gc-2.6", "best-possible"} < cannot
    assert not cannot & {"first-fit-ao", "lea-2.6.6", "ptmalloc", "tlsf", "binary-buddy", "phk"}
    for name in cannot:
        with pytest.raises(PolicyError, match="cannot serve requested alignments"):
            find_policy(name, memalign=True)


def test_several_policies_side_by_side():
    trace = asking((10, 0), (100, 64), (5000, 256))
    names = ["first-fit-ao", "best-fit-ao:memalign=on", "gnu-1995:memalign=on"]
    together = simulate_all(trace, names)
    alone = [simulate(trace, name) for name in names]
    assert [run.peak_heap_bytes for run in together] == [run.peak_heap_bytes for run in alone]
