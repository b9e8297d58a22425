"""Share of requests for an arena that another thread uses at the same time."""

from dataclasses import replace

import numpy as np

from simalloc.advice import advise, recorded, settings_of, user_candidate
from simalloc.trace import Op, Trace

TRIED = [user_candidate(name) for name in ("glibc", "glibc:arena_max=1", "mimalloc")]


def two_threads(apart, size=5000):
    """A trace of two threads in turn, whose consecutive events are `apart` nanoseconds apart."""
    events = 2000
    return Trace.from_events(
        [Op.MALLOC] * events,
        range(events),
        [size] * events,
        thread=np.arange(events) % 2 + 1,
        time=np.arange(events) * apart,
    )


def shares(trace):
    return [one.at_once for one in settings_of(trace, TRIED)]


def test_threads_of_one_arena_want_it_at_once_if_they_come_close_together():
    own, single, none = shares(two_threads(apart=500))
    assert (own, none) == (0, 0)
    assert single > 0.99
    assert shares(two_threads(apart=1500)) == [0, 0, 0]


def test_without_times_nobody_knows_and_one_thread_waits_for_nobody():
    trace = two_threads(apart=500)
    timeless = Trace.from_events(trace.op, trace.object, trace.size, thread=trace.thread)
    assert shares(timeless) == [None, None, None]
    assert shares(Trace.from_events([Op.MALLOC], [0], [8], time=[0])) == [0, 0, 0]


def test_what_the_cache_of_a_thread_serves_goes_to_no_arena():
    events = 4000
    pairs = Trace.from_events(
        [Op.MALLOC, Op.FREE] * events,
        np.repeat(np.arange(events), 2),
        [64, 0] * events,
        thread=np.repeat(np.arange(events) % 2 + 1, 2),
        time=np.arange(2 * events) * 100,
    )
    _, single, _ = shares(pairs)
    assert single < 0.01


def test_a_line_that_makes_threads_wait_is_named_and_not_advised():
    each = 400
    numbers = np.arange(8 * each).reshape(8, each)
    trace = Trace.from_events(
        [*[Op.MALLOC] * each, *[Op.FREE] * each] * 8,
        np.hstack([numbers, numbers]).ravel(),
        np.hstack([np.full((8, each), 3000), np.zeros((8, each), int)]).ravel(),
        thread=np.repeat(np.arange(1, 9), 2 * each),
    )
    glibc, single = settings_of(trace, TRIED[:2])
    assert advise(trace, [glibc, single], recorded({})).line == "export MALLOC_ARENA_MAX=1"
    waiting = replace(single, at_once=0.6)
    advice = advise(trace, [glibc, waiting], recorded({}))
    assert advice.line == ""
    assert "but 60 % of the requests would contend for an arena (now 0 %)" in advice.text
