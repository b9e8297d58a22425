"""The parts of a heap's bytes, computed by hand, and their sum."""

import numpy as np
import pytest

from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.heap.real import AtStart, NativeRun
from simalloc.heap.running.run_from_states import footprint_of_states
from simalloc.measure import real_waste, waste
from simalloc.measure.waste import PARTS
from simalloc.policy import find_policy, with_and_without_mechanism
from simalloc.trace import Trace, read_trace
from simalloc.trace.catalogue import find_trace

MALLOC, FREE, EMPTY = 0, 1, 4


def taken_apart(events, text, *, event=None, scale=1):
    """Return the waste of a policy on (op, object, size) events; event -1 is the last one."""
    op, number, size = zip(*events, strict=True)
    trace = Trace.from_events(op, number, size, name="t")
    run = simulate(trace, text, scale=scale, realloc="in-place")
    return waste(trace, run, len(events) - 1 if event == -1 else event)


def parts(found):
    return {name: getattr(found, name) for name in PARTS if getattr(found, name)}


def test_a_fit_alone_has_live_bytes_and_the_rest_of_its_growth():
    found = taken_apart([(MALLOC, 1, 100)], "best-fit-ao:growth=4K")
    assert parts(found) == {"live": 100, "free_at_top": 3996}
    assert (found.heap, found.event, found.trace, found.policy) == (4096, 0, "t", "best-fit-ao")


def test_free_inside_is_what_lies_between_live_blocks():
    events = [(MALLOC, 1, 96), (MALLOC, 2, 1000), (MALLOC, 3, 3000), (FREE, 2, 0)]
    found = taken_apart(events, "best-fit-ao", event=-1)
    assert parts(found) == {"live": 3096, "free_inside": 1000}


def test_headers_are_what_a_request_grows_by():
    # 96 + 4 + 4 is rounded up to 104, a multiple of 8. An object of 1 byte takes the minimum of 16.
    events = [(MALLOC, 1, 96), (MALLOC, 2, 1)]
    found = taken_apart(events, "best-fit-ao:mechanism=on,word=4", event=-1)
    assert parts(found) == {"live": 97, "headers": 23, "free_at_top": 3976}


def test_a_size_class_rounds():
    found = taken_apart([(MALLOC, 1, 33)], "simple-seg-2n")
    assert parts(found) == {"live": 33, "rounding": 31, "free_at_top": 4032}


def test_a_request_of_nothing_has_a_header_of_a_byte():
    found = taken_apart([(MALLOC, 1, 0)], "best-fit-ao")
    assert parts(found) == {"headers": 1, "free_at_top": 4095}


def test_free_at_the_top_may_end_at_a_mark():
    # An object has a tag at each end. Two words begin the heap, and one word marks its end.
    found = taken_apart([(MALLOC, 1, 100)], "csri-1.18:mechanism=on")
    assert parts(found) == {"live": 100, "headers": 8, "tables": 12, "free_at_top": 3976}
    # Headers have 8 bytes. A table has 7 words after its own header, and 4 bytes mark the end of
    # 2048.
    found = taken_apart([(MALLOC, 1, 100)], "solaris-3x:mechanism=on")
    assert parts(found) == {"live": 100, "headers": 12, "tables": 16, "free_at_top": 1920}


def test_cached_blocks_are_not_free():
    events = [(MALLOC, 1, 96), (MALLOC, 2, 4000), (FREE, 1, 0)]
    found = taken_apart(events, "best-fit-ao:cache=10", event=-1)
    assert parts(found) == {"live": 4000, "cached": 96}


def test_bytes_are_the_programs_at_any_scale():
    found = taken_apart([(MALLOC, 1, 100)], "best-fit-ao:growth=64K", scale=16)
    assert parts(found) == {"live": 100, "free_at_top": 3996}


@pytest.mark.parametrize("name", ["best-fit-ao", "simple-seg-2n", "double-buddy", "lea-2.6.1"])
@pytest.mark.parametrize("how", ["", ":mechanism=on"])
def test_the_parts_add_up_to_the_peak(name, how):
    trace = read_trace(find_trace("make"))
    run = simulate(trace, name + how, scale=1, realloc="in-place")
    found = waste(trace, run)
    assert found.heap == run.peak_heap_bytes
    assert found.live == run.live_bytes_at_peak_heap
    assert all(getattr(found, part) >= 0 for part in PARTS)


def by_page(found):
    return found.resident, found.free_resident, found.free_untouched, found.free_purged


def test_what_is_free_was_never_touched_or_is_resident():
    # The heap has six pages of 4 KiB. 5000 bytes touch two pages, and 3192 bytes of the second are
    # free.
    found = taken_apart([(MALLOC, 1, 5000)], "best-fit-ao:growth=24K")
    assert by_page(found) == (8192, 3192, 16384, 0)
    found = taken_apart([(MALLOC, 1, 5000), (FREE, 1, 0)], "best-fit-ao:growth=24K", event=-1)
    assert by_page(found) == (8192, 8192, 16384, 0)


def test_what_is_given_back_is_told_from_what_was_never_touched():
    # malloc_trim purges the whole pages of the inner free block, and lowers the top.
    events = [(MALLOC, 1, 40000), (MALLOC, 2, 5000), (FREE, 1, 0), (EMPTY, -1, 0)]
    before = taken_apart(events[:-1], "ptmalloc", event=-1)
    after = taken_apart(events, "ptmalloc", event=-1)
    assert before.free_purged == 0
    assert after.free_purged == before.resident - after.resident == 32768
    assert after.free_inside == before.free_inside > after.free_purged


def test_what_the_program_does_not_write_is_not_resident():
    trace = Trace.from_events([MALLOC, FREE], [1, 1], [5000, 0], name="t")
    run = simulate(trace, "best-fit-ao", scale=1, writes=False)
    assert by_page(waste(trace, run, 1)) == (0, 0, 8192, 0)


def test_the_best_possible_has_no_pages():
    assert by_page(taken_apart([(MALLOC, 1, 100)], "best-possible")) == (None,) * 4


def test_no_such_event_is_an_error():
    with pytest.raises(SimallocError, match="event 7"):
        taken_apart([(MALLOC, 1, 100)], "best-fit-ao", event=7)


def test_a_real_allocator_tells_no_more_than_its_memory():
    live, mapped, resident = (np.array([bytes_]) for bytes_ in (600, 1000, 900))
    run = NativeRun(
        trace="t",
        allocator="glibc",
        library="libc.so",
        touch=True,
        events=1,
        threads=1,
        threads_known=False,
        max_live_bytes=600,
        start=AtStart(0, 0),
        mapped=footprint_of_states(live, mapped, live, 1),
        resident=footprint_of_states(live, resident, live, 1),
        peak_space=1000,
        seconds=(1.0,),
    )
    assert parts(real_waste(run)) == {"live": 600, "unknown": 400}
    assert real_waste(run).event is None


def test_each_policy_is_followed_by_itself_with_mechanism():
    names = ["best-fit-ao", "first-fit-ao:mechanism=on", "next-fit-ao:header=8"]
    texts = [
        (found.name, found.description.mechanism)
        for found in with_and_without_mechanism(map(find_policy, names))
    ]
    assert texts == [
        ("best-fit-ao", False),
        ("best-fit-ao", True),
        ("first-fit-ao", True),
        ("next-fit-ao", False),
    ]
