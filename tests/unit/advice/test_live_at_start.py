"""Advice on traces of running processes, which begin with allocations of live objects."""

from dataclasses import replace

import numpy as np
import pytest

from simalloc.advice import Candidate, Moment, advise, candidates, recorded, settings_of
from simalloc.advice.moments import marks_of, shifted
from simalloc.advice.outcomes import with_trims
from simalloc.advice.perturbed import begun_elsewhere, in_another_order
from simalloc.advice.sentences import left_out, live_at
from simalloc.heap import simulate
from simalloc.trace import Op, Trace

LIVE, LATER, SIZE = 3000, 400, 1000


@pytest.fixture(scope="module")
def trace():
    """A trace of 3,000 initially live blocks of 1,000 bytes, then 200 more, each freed at once."""
    op = [Op.MALLOC] * LIVE + [Op.MALLOC, Op.FREE] * (LATER // 2)
    later = np.repeat(np.arange(LIVE, LIVE + LATER // 2), 2)
    size = [SIZE] * LIVE + [SIZE, 0] * (LATER // 2)
    thread = np.append(np.zeros(LIVE, int), np.arange(LATER) // 2 % 3)
    total = LIVE * SIZE
    start = {"objects": LIVE, "bytes": total, "peak_live_bytes": total + SIZE}
    return Trace.from_events(
        op, np.append(np.arange(LIVE), later), size, thread=thread,
        provenance={"live_at_start": start, "malloc": "glibc 2.36"},
    )  # fmt: skip


def test_moments_begin_when_all_is_live(trace):
    (now,) = settings_of(trace, [Candidate("glibc")])
    assert now.unused_event >= LIVE - 1
    assert LIVE * SIZE <= live_at(now, Moment.MEAN) <= (LIVE + 1) * SIZE
    assert now.moments[Moment.MEAN] >= LIVE * SIZE
    assert now.run.live_at_start.bytes == LIVE * SIZE
    bare = replace(trace, provenance={})
    (other,) = settings_of(bare, [Candidate("glibc")])
    assert other.moments[Moment.MEAN] < 0.8 * now.moments[Moment.MEAN]
    assert other.moments[Moment.PEAK] == now.moments[Moment.PEAK]


def test_live_bytes_are_averaged_over_time():
    """1,000 bytes are live for 3 seconds, then 3,000 bytes for 1 second."""
    trace = Trace.from_events([0, 0, 1], [0, 1, 1], [1000, 2000, 0], time=[0, 3 * 10**9, 4 * 10**9])
    (now,) = settings_of(trace, [Candidate("glibc")])
    assert now.live[Moment.MEAN] == 1500
    (other,) = settings_of(replace(trace, time=None), [Candidate("glibc")])
    assert other.live[Moment.MEAN] == pytest.approx((1000 + 3000 + 1000) / 3)


def test_the_peak_of_a_heap_that_only_shrinks_has_all_that_was_live():
    op = [Op.MALLOC] * LIVE + [Op.FREE] * LIVE
    size = [SIZE] * LIVE + [0] * LIVE
    total = LIVE * SIZE
    start = {"objects": LIVE, "bytes": total, "peak_live_bytes": total}
    order = [*range(LIVE), *reversed(range(LIVE))]
    trace = Trace.from_events(op, order, size, provenance={"live_at_start": start})
    (now,) = settings_of(trace, [Candidate("glibc")])
    early = replace(now.resident, peak_event=5, live_bytes_at_peak=6 * SIZE)
    begun = replace(now, run=replace(now.run, resident=early))
    assert live_at(begun, Moment.PEAK) == total


def test_a_verdict_on_such_a_trace(trace):
    settings = settings_of(trace, [Candidate("glibc"), Candidate("glibc", "top_pad=0")])
    assert advise(trace, settings, recorded(trace.provenance)).spread is not None


def test_trims_are_counted_from_the_first_event_of_the_recording(trace):
    trimmed = with_trims(trace, 100)
    assert np.flatnonzero(trimmed.op == Op.EMPTY).tolist() == [LIVE + 100, LIVE + 201, LIVE + 302]
    marks = marks_of(trace, LIVE + 250)
    places = shifted(marks, 100, LIVE)
    assert places[marks.event == LIVE + 250].tolist() == [LIVE + 252]
    assert places[marks.event == LIVE - 1].tolist() == [LIVE - 1]
    assert (trimmed.op[places] != Op.EMPTY).all()


def test_chance_changes_nothing_of_what_was_live(trace):
    other = begun_elsewhere(trace, 73, LIVE)
    assert other.size[LIVE] == 73
    assert np.array_equal(np.delete(other.size, LIVE), trace.size)
    assert np.array_equal(other.object[:LIVE], np.arange(LIVE))
    mixed = in_another_order(trace, 1, LIVE)
    assert np.array_equal(mixed.thread[:LIVE], trace.thread[:LIVE])
    assert not np.array_equal(mixed.thread[LIVE:], trace.thread[LIVE:])
    simulate(mixed, "ptmalloc")


def test_the_share_that_was_live_is_in_the_record(trace):
    run = simulate(trace, "ptmalloc")
    assert run.live_at_start.objects == LIVE
    assert simulate(replace(trace, provenance={}), "ptmalloc").live_at_start.objects == 0


def test_calls_that_change_a_running_process():
    able = [one.name for one in candidates() if one.can_begin_later]
    assert able == [
        "glibc", "glibc:arena_max=1", "glibc:arena_max=2", "glibc:arena_max=4",
        "glibc:trim_threshold=64K", "glibc:mmap_threshold=64K", "glibc:top_pad=0",
        "glibc:malloc_trim=10000",
    ]  # fmt: skip
    assert Candidate("glibc").call == ""
    assert Candidate("glibc", "version=2.36,arena_max=2").call == "mallopt(M_ARENA_MAX, 2)"
    others = [one for one in candidates() if not one.can_begin_later]
    assert left_out(others) == (
        "Omitted because they cannot begin with glibc's heap: jemalloc, tcmalloc and mimalloc. "
        "Omitted because a running program cannot change them: tcache_count=0."
    )
    assert left_out([]) == ""
