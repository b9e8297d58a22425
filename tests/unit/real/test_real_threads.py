"""The threads of a trace are replayed by real threads, in its order and with its thread exits."""

import platform

import numpy as np
import pytest

from simalloc.heap.real import GLIBC, find_allocator, find_allocators, replay_natively
from simalloc.trace import Op, Trace

PAGE = 4096

RECORDED = {"recorder": "ours"}
"""Provenance of a trace whose events include the C library's requests."""

BY_THREAD = """
#include <pthread.h>
#include <sys/mman.h>
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char pool[1 << 16];
static unsigned long used;
static _Thread_local int is_known;
static void *take(void)
{
    return mmap(0, 4096 * 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void give_back(void *pages) { munmap(pages, 4096 * 16); }
static void make_key(void) { pthread_key_create(&key, give_back); }
void *malloc(unsigned long size)
{
    char *block = pool + used;
    pthread_once(&once, make_key);
    if (!is_known)
        pthread_setspecific(key, take());
    is_known = 1;
    used += (size + 15) & ~15ul;
    return block;
}
void free(void *object) { (void)object; }
"""
"""Allocator that maps 16 pages for each thread that calls malloc, and unmaps them at thread exit.
"""


@pytest.fixture
def by_thread(shared_library):
    return find_allocator(str(shared_library(BY_THREAD)))


def asking(*threads, ends=()):
    """Return a trace in which threads request 8 bytes in this order; those in `ends` then exit."""
    count = len(threads)
    op = [Op.MALLOC] * count + [Op.THREAD_END] * len(ends)
    key = [*range(count), *[-1] * len(ends)]
    size = [8] * count + [0] * len(ends)
    columns = {"thread": [*threads, *ends]}
    return Trace.from_events(op, key, size, **columns, provenance=RECORDED)


@pytest.mark.parametrize(
    ("trace", "threads", "peak", "final"),
    [
        (asking(0, 0, 0), 1, 1, 1),
        (asking(7, 4_000_000_000, 7, 9, 9, 7), 3, 3, 3),
        (asking(1, 2, 3, ends=[3, 2]), 3, 3, 1),
        (asking(1, 2, 1, ends=[1, 2]), 2, 2, 1),  # the first thread is the process's own
        (asking(5, ends=[6, 7]), 3, 1, 1),  # the ending threads never made a request
    ],
)
def test_threads_live_from_their_first_event_to_their_end(by_thread, trace, threads, peak, final):
    (run,) = replay_natively(trace, [by_thread], touch=False, repeats=2)
    assert run.threads == threads
    assert (run.mapped.peak_bytes - run.start.mapped) / PAGE == 16 * peak
    assert (run.mapped.final_bytes - run.start.mapped) / PAGE == 16 * final
    assert min(run.seconds) > 0


def test_a_thread_that_ended_may_come_again(by_thread):
    op = [Op.MALLOC, *[Op.MALLOC, Op.THREAD_END] * 50]
    key, size = [0, *[1, -1] * 50], [8, *[8, 0] * 50]
    key[1::2] = range(1, 51)
    trace = Trace.from_events(op, key, size, thread=[0, *[1, 1] * 50], provenance=RECORDED)
    (run,) = replay_natively(trace, [by_thread], touch=False, repeats=1)
    mean = (run.mapped.mean_bytes - run.start.mapped) / PAGE
    assert mean == pytest.approx((16 + 50 * (32 + 16)) / 101)


def test_thread_0_is_the_process_unless_the_trace_was_recorded(by_thread):
    trace = Trace.from_events([Op.MALLOC], [0], [8], thread=[5])
    (run,) = replay_natively(trace, [by_thread], touch=False, repeats=1)
    assert run.threads == 2
    assert (run.mapped.final_bytes - run.start.mapped) / PAGE == 32  # this thread started the other


def test_without_the_column_one_thread_replays():
    trace = Trace.from_events([Op.MALLOC], [0], [8])
    (run,) = replay_natively(trace, [GLIBC], repeats=1)
    assert (run.threads, run.threads_known) == (1, False)


@pytest.fixture
def idle():
    """Return eight consecutive threads that each keep 10 of 1,000 objects of 400 bytes."""
    op, key, thread = [], [], []
    for number in range(8):
        mine = range(1000 * number, 1000 * (number + 1))
        freed = [each for each in mine if each % 100]
        op += [Op.MALLOC] * 1000 + [Op.FREE] * len(freed)
        key += [*mine, *freed]
        thread += [number] * (1000 + len(freed))
    return Trace.from_events(op, key, np.where(np.array(op) == Op.MALLOC, 400, 0), thread=thread)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is about glibc's arenas")
def test_what_arenas_of_idle_threads_hold(idle):
    """A thousand chunks of 416 bytes and a table are below the trim threshold."""
    default, one = replay_natively(idle, find_allocators("glibc,glibc:arena_max=1"), repeats=1)
    assert (default.allocator, one.allocator) == ("glibc", "glibc:arena_max=1")
    assert default.resident.final_bytes == pytest.approx(8 * 419_000, rel=0.01)
    assert one.resident.final_bytes < 0.2 * default.resident.final_bytes
    assert default.peak_space > 7 * (64 << 20) > one.peak_space


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is about glibc's arenas")
@pytest.mark.parametrize(("provenance", "grown"), [(RECORDED, 0), ({}, 1)])
def test_what_starting_threads_takes_is_asked_for_once(provenance, grown):
    """82 chunks of 1,296 bytes and 42 tables of 656 fill the first 132 KiB except 1,344 bytes.

    The C library's requests for starting 41 threads, 288 bytes each, are among the events of a
    recorded program. In other traces they precede the events, and the heap has to grow.
    """
    trace = Trace.from_events(
        [Op.MALLOC] * 82,
        range(82),
        [1288] * 82,
        thread=[each % 2 * each for each in range(82)],
        provenance=provenance,
    )
    (run,) = replay_natively(trace, find_allocators("glibc:arena_max=1"), repeats=1)
    assert run.threads == 42
    assert (run.mapped.final_bytes > 132 << 10) == grown
