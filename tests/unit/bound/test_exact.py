"""The exact search, on instances with a known minimum."""

from time import sleep

import numpy as np
import pytest

from simalloc.bound import Effort, Timetable, best_possible
from simalloc.bound.exact import Buffers, minimise, reference, search
from simalloc.bound.exact.engine import Outcome, Searched, fit
from simalloc.bound.exact.search import luby
from simalloc.bound.exact.solver import is_installed
from simalloc.trace import Op, Trace

M, F = Op.MALLOC, Op.FREE

ABOVE_PEAK = [
    [(0, 3, 2), (0, 1, 2), (1, 2, 2), (2, 6, 1), (2, 4, 1), (3, 6, 1), (3, 4, 1), (4, 7, 2),
     (6, 8, 2), (7, 9, 2)],
    [(0, 2, 4), (0, 1, 4), (1, 3, 3), (1, 4, 1), (2, 4, 2), (2, 3, 1), (2, 4, 1), (3, 6, 4),
     (4, 7, 4), (6, 9, 2)],
    [(0, 4, 2), (0, 3, 3), (3, 6, 2), (3, 5, 1), (4, 6, 1), (4, 5, 1), (5, 7, 2), (6, 8, 3),
     (7, 9, 1), (7, 9, 1)],
]  # fmt: skip
"""Buffers (birth, death, size) whose minimum, by exhaustive search, is one byte above peak live."""

SIX = [(0, 6, 82), (8, 9, 837), (0, 1, 823), (2, 7, 57), (4, 10, 16), (3, 5, 108)]
"""Six objects that can be placed in their peak live bytes, 905."""


def buffers_of(rows, alignment=None):
    begin, end, size = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    ones = np.ones(len(rows), np.int64)
    return Buffers.whole(size, ones if alignment is None else np.array(alignment, np.int64),
                   np.arange(len(rows)), begin, end)  # fmt: skip


def minimum(buffers, **options):
    found = minimise(buffers, np.arange(len(buffers)) * buffers.size.max() * 64, **options)
    assert_holds(buffers, found.address)
    return buffers.height(found.address), found.lower


def assert_holds(buffers, address):
    assert not (address % buffers.alignment).any()
    for one in range(len(buffers.owner)):
        for other in range(one):
            a, b = buffers.owner[one], buffers.owner[other]
            apart = (
                a == b
                or buffers.end[one] <= buffers.begin[other]
                or buffers.end[other] <= buffers.begin[one]
                or address[a] + buffers.high[one] <= address[b] + buffers.low[other]
                or address[b] + buffers.high[other] <= address[a] + buffers.low[one]
            )
            assert apart, (one, other)


def test_sections_are_the_maximal_sets():
    buffers = buffers_of([(0, 3, 2), (0, 1, 2), (1, 2, 2), (2, 6, 1), (4, 5, 7)])
    assert buffers.sections.members() == [[0, 1], [0, 2], [0, 3], [3, 4]]
    assert buffers.bound() == 8
    assert [part.tolist() for part in buffers.parts()] == [[0, 1, 2, 3, 4]]


def test_independent_parts():
    buffers = buffers_of([(5, 7, 2), (0, 3, 2), (6, 9, 2), (1, 5, 2)])
    assert [part.tolist() for part in buffers.parts()] == [[1, 3], [0, 2]]


def test_six_objects_reach_the_peak():
    assert minimum(buffers_of(SIX)) == (905, 905)


@pytest.mark.parametrize("rows", ABOVE_PEAK)
def test_a_minimum_above_the_peak_is_proven(rows):
    buffers = buffers_of(rows)
    least = buffers.bound() + 1
    assert minimum(buffers) == (least, least)
    rank = np.arange(len(rows), dtype=np.uint32)
    for one in (fit, reference.fit):
        assert one(buffers, rank, least - 1, 1000, 60.0).outcome is Outcome.REFUTED
        assert one(buffers, rank, least, 1000, 60.0).outcome is Outcome.FITS
        assert one(buffers, rank, least - 1, 3, 60.0).outcome is Outcome.UNDECIDED


def test_sizes_of_terabytes():
    scale = 1 << 40
    rows = [(begin, end, size * scale) for begin, end, size in ABOVE_PEAK[0]]
    assert minimum(buffers_of(rows)) == (5 * scale, 5 * scale)


def test_alignment_is_respected_and_counted():
    # Stacked, the first two buffers need 64 + 10 bytes. Between them, the third fits only at 16.
    assert minimum(buffers_of([(0, 9, 10), (0, 9, 10), (0, 9, 40)], [64, 64, 16])) == (74, 74)
    assert minimum(buffers_of([(0, 9, 10), (0, 9, 10)], [64, 64])) == (74, 74)


def test_a_gap_can_be_used_by_others():
    size = np.array([4, 4], np.int64)
    owner, begin, end = np.array([[0, 0, 1], [0, 6, 3], [3, 9, 6]])
    buffers = Buffers.whole(size, np.ones(2, np.int64), owner, begin, end)
    assert minimum(buffers) == (4, 4)


def with_parts(scale=1):
    """Return two buffers of 8 bytes and one of 4.

    When the two buffers are both live, each of them leaves a side unused for the other.
    """
    owner, begin, end, low, high = np.array(
        [[0, 0, 1, 1, 2], [0, 2, 2, 4, 4], [2, 4, 4, 6, 6], [0, 0, 5, 0, 0], [8, 3, 8, 8, 4]]
    )
    size = np.array([8, 8, 4], np.int64) * scale
    return Buffers(size, np.ones(3, np.int64), owner, begin, end, low * scale, high * scale)


@pytest.mark.parametrize("scale", [1, 1 << 40])
def test_buffers_reach_into_the_unused_bytes_of_others(scale):
    buffers = with_parts(scale)
    # The distance of the first from the second is not 3 to 7 bytes, because bytes 0 to 2 of the
    # first would overlap bytes 5 to 7 of the second.
    assert (buffers.bans.under[0], buffers.bans.over[0]) == (2 * scale, 8 * scale)
    assert minimise(buffers, np.array([0, 100, 200]) * scale).lower == 12 * scale


def test_the_unit_of_alignments_that_do_not_divide_each_other():
    # 12 and 8 leave a remainder of 4, which is not a multiple of 6. The unit is 2, which divides an
    # address of 30.
    assert buffers_of([(0, 9, 12), (0, 9, 24)], [6, 8]).unit == 2
    assert buffers_of([(0, 9, 12), (0, 9, 24)], [4, 6]).unit == 12


def test_a_target_is_reached_or_refuted():
    buffers = buffers_of(ABOVE_PEAK[0])
    assert minimum(buffers, target=6)[0] <= 6
    height, lower = minimum(buffers, target=4)
    assert (lower, height > 4) == (5, True)


def test_limits_of_nodes():
    found = minimise(buffers_of(SIX), np.arange(6) * 1000, effort=Effort(nodes=2))
    assert found.nodes == 2


def test_an_interruption_keeps_the_best_so_far():
    def interrupt(_):
        raise KeyboardInterrupt

    start = np.arange(6) * 1000
    found = minimise(buffers_of(SIX), start, progress=interrupt)
    assert (found.stopped, found.address.tolist()) == (True, start.tolist())


def test_restarts():
    lengths = luby()
    assert [next(lengths) for _ in range(15)] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]


def test_the_status_of_a_trace():
    births = [(begin, 1, number, size) for number, (begin, _, size) in enumerate(ABOVE_PEAK[2])]
    deaths = [(end, 0, number, 0) for number, (_, end, _) in enumerate(ABOVE_PEAK[2])]
    events = sorted(births + deaths)
    trace = Trace.from_events(
        [M if begins else F for _, begins, _, _ in events],
        [number for _, _, number, _ in events],
        [size for *_, size in events],
    )
    placement = best_possible(trace)
    assert (placement.height, placement.bound, placement.lower_bound) == (6, 5, 6)
    assert (placement.status, placement.is_bound) == ("optimal", False)
    assert [placement.fits(capacity) for capacity in (5, 6)] == [False, True]
    hurried = best_possible(trace, effort=Effort(nodes=1))
    assert hurried.status != "optimal"
    assert hurried.fits(5) is None


def test_alignments_of_a_trace():
    trace = Trace.from_events([M, M, M], [0, 1, 2], [10, 10, 40], alignment=[64, 64, 16])
    assert best_possible(trace).height == 60
    placement = best_possible(Timetable.of(trace, aligned=True))
    assert (placement.height, placement.status) == (74, "optimal")


def test_alignments_that_do_not_divide_each_other():
    trace = Trace.from_events([M, M, M], [0, 1, 2], [4, 4, 4], alignment=[4, 3, 4])
    placement = best_possible(Timetable.of(trace, aligned=True), effort=Effort(nodes=1))
    assert not (placement.address % placement.table.alignment).any()


@pytest.mark.skipif(not is_installed(), reason="OR-tools is not installed")
@pytest.mark.parametrize(
    ("buffers", "least"),
    [(buffers_of(ABOVE_PEAK[0]), 5), (with_parts(), 12)],
    ids=["whole", "parts"],
)
def test_a_solver_helps(monkeypatch, buffers, least):
    monkeypatch.setattr(search, "ALONE", 0.0)

    def never(problem, rank, *limits):
        while limits[-1]():
            sleep(0.01)
        return Searched(Outcome.UNDECIDED, 1, np.zeros(problem.sections.count, np.int64), rank)

    start = np.arange(len(buffers)) * 8
    found = minimise(buffers, start, effort=Effort(seconds=60.0), fit=never)
    assert_holds(buffers, found.address)
    assert (buffers.height(found.address), found.lower, found.helped) == (least, least, True)


def test_without_a_solver_all_works(monkeypatch):
    monkeypatch.setattr(search, "is_installed", lambda: False)
    monkeypatch.setattr(search, "ALONE", 0.0)
    assert minimum(buffers_of(ABOVE_PEAK[1])) == (9, 9)
