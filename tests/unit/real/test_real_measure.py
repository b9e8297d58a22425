"""Measurements of real allocators, checked with allocators whose every byte is known."""

import numpy as np
import pytest

from simalloc.errors import SimallocError
from simalloc.heap.real import (
    GLIBC,
    columns_of,
    find_allocator,
    installed,
    native_process,
    passes,
    process,
    replay_natively,
)
from simalloc.trace import Op, Trace

PAGE = 4096

PAGES = """
#include <sys/mman.h>
void *malloc(unsigned long size)
{
    void *page = mmap(0, size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? 0 : page;
}
void free(void *page) { if (page != 0) munmap(page, 4096); }
"""
"""Allocator that maps a page for each object of less than 4096 bytes, and unmaps it at free."""

MISER = """
static char pool[1 << 16];
static unsigned long used;
void *malloc(unsigned long size)
{
    unsigned long start = used;
    used += (size + 15) & ~15ul;
    return used > sizeof pool ? 0 : pool + start;
}
void *realloc(void *old, unsigned long size) { (void)old; return malloc(size); }
void free(void *object) { (void)object; }
"""
"""Allocator that grants 64 KiB in total."""


BY_KIND = """
#include <sys/mman.h>
typedef unsigned long size_t;
static char *kept;
static void *pages(int count)
{
    return mmap(0, 4096 * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
void *malloc(size_t size) { (void)size; return pages(1); }
void *calloc(size_t count, size_t size) { (void)count, (void)size; return pages(10); }
void *memalign(size_t alignment, size_t size) { (void)alignment, (void)size; return pages(100); }
void *realloc(void *old, size_t size) { (void)old, (void)size; return kept = pages(1000); }
void free(void *object) { (void)object; }
int mallctl(const char *name, void *old, size_t *length, void *new, size_t new_length)
{
    (void)name, (void)old, (void)length, (void)new, (void)new_length;
    return munmap(kept, 1000 * 4096);
}
"""
"""Allocator that maps 1, 10, 100 or 1000 pages by call, and returns the last mapping on request."""


def trace_of(op, key, size, name="made", **columns):
    return Trace.from_events(op, key, size, name=name, **columns)


def growing(count, size):
    return trace_of(np.zeros(count, np.uint8), np.arange(count), np.full(count, size))


def waves(count, size, times):
    """Return a trace that allocates and frees `count` objects, several times."""
    op = np.tile(np.repeat([Op.MALLOC, Op.FREE], count), times)
    return trace_of(op, np.tile(np.arange(count), 2 * times), np.where(op == Op.MALLOC, size, 0))


@pytest.fixture
def pages(shared_library):
    return find_allocator(str(shared_library(PAGES)))


@pytest.mark.parametrize("trace", [growing(500, 2000), waves(500, 2000, 3)])
def test_mapped_is_exact_and_resident_within_a_few_pages(pages, trace):
    (run,) = replay_natively(trace, [pages], repeats=1)
    assert run.max_live_bytes == 500 * 2000
    assert run.mapped.peak_bytes - run.start.mapped == 500 * PAGE
    assert abs(run.resident.peak_bytes - run.start.resident - 500 * PAGE) <= 3 * PAGE
    assert run.start.mapped <= 4 * PAGE, "the library's own data, and no other"


def test_what_is_not_touched_is_mapped_but_not_resident(pages):
    (run,) = replay_natively(growing(500, 2000), [pages], touch=False, repeats=1)
    assert run.mapped.peak_bytes - run.start.mapped == 500 * PAGE
    assert run.resident.peak_bytes - run.start.resident <= 3 * PAGE


def test_a_peak_of_one_event_is_seen():
    op = [Op.MALLOC, Op.FREE, *[Op.MALLOC] * 100]
    trace = trace_of(op, [0, 0, *range(100)], [10 << 20, 0, *[100] * 100])
    (run,) = replay_natively(trace, [GLIBC], repeats=1)
    assert 10 << 20 <= run.mapped.peak_bytes < 11 << 20
    assert 10 << 20 <= run.resident.peak_bytes < 11 << 20


def test_glibc_takes_what_its_chunks_add_up_to():
    """1000 bytes and a word make a chunk of 1008, and the break grows by 132 KiB."""
    (run,) = replay_natively(growing(20_000, 1000), [GLIBC], repeats=1)
    assert run.resident.peak_bytes == pytest.approx(20_000 * 1008, abs=4 * PAGE)
    assert run.mapped.peak_bytes == pytest.approx(20_000 * 1008, abs=33 * PAGE)
    assert run.nanoseconds > 0


@pytest.mark.parametrize("allocator", installed(), ids=lambda allocator: allocator.name)
def test_each_installed_allocator_replays_every_kind_of_event(allocator):
    op = [Op.MALLOC, Op.REALLOC, Op.REALLOC, Op.REALLOC, Op.FREE, Op.MALLOC, Op.FREE]
    trace = trace_of(op, [0, 0, 0, 0, 0, 1, 1], [5, 0, 100_000, 7, 0, 0, 0])
    seen = []
    (run,) = replay_natively(trace, [allocator], repeats=2, progress=seen.append)
    assert (run.allocator, run.events, run.max_live_bytes) == (allocator.name, 7, 100_000)
    assert run.resident.peak_bytes >= 100_000 - 2 * 4096  # accurate to two pages
    assert len(run.seconds) == 2
    assert min(run.seconds) > 0
    assert run.nanoseconds is None, "so few events say nothing of the time"
    assert seen == [1] * passes(2)
    assert ("libc.so" in run.library) == (allocator is GLIBC)


def test_each_kind_of_event_is_the_call_that_it_was(shared_library):
    by_kind = find_allocator(str(shared_library(BY_KIND)))
    op = [Op.MALLOC, Op.CALLOC, Op.MALLOC, Op.REALLOC, Op.EMPTY]
    trace = trace_of(op, [0, 1, 2, 0, -1], [5] * 4 + [0], alignment=[0, 0, 64, 0, 0])
    (run,) = replay_natively(trace, [by_kind], touch=False, repeats=1)
    assert run.mapped.peak_bytes - run.start.mapped == 1111 * PAGE
    assert run.mapped.final_bytes - run.start.mapped == 111 * PAGE
    assert run.mapped.mean_bytes - run.start.mapped == (1 + 11 + 111 + 1111 + 111) / 5 * PAGE
    assert run.mapped.peak_event == 3


def test_an_empty_trace_takes_nothing_of_glibc():
    (run,) = replay_natively(trace_of([], [], []), [GLIBC], repeats=1)
    assert run.nanoseconds is None
    assert run.mapped.peak_bytes == 0
    assert run.resident.peak_bytes <= 2 * PAGE


def test_the_event_that_is_refused_is_named(shared_library):
    miser = find_allocator(str(shared_library(MISER)))
    with pytest.raises(
        SimallocError, match=r"made: .*libmade.so has no memory for event 64, .*1024"
    ):
        replay_natively(growing(65, 1024), [miser], repeats=1)


def test_a_trace_that_would_take_all_memory_is_refused(monkeypatch):
    monkeypatch.setattr(process, "room", lambda: 40_000)
    with pytest.raises(SimallocError, match=r"made: .* 50,000 bytes .* 40,000 .*--no-touch"):
        replay_natively(growing(5, 10_000), [GLIBC])
    (run,) = replay_natively(growing(5, 10_000), [GLIBC], touch=False, repeats=1)
    assert run.max_live_bytes == 50_000


def test_an_allocator_that_takes_all_memory_is_stopped(monkeypatch, pages):
    """The allocator may use the 4 MiB of free memory, although the live bytes are few."""
    monkeypatch.setattr(process, "room", lambda: 4 << 20)
    with pytest.raises(
        SimallocError, match=r"made: .*libmade.so had taken nearly all free memory before event \d+"
    ):
        replay_natively(growing(2000, 10), [pages], repeats=1)


def test_a_pass_frees_what_is_live_at_its_end():
    """100 passes over a trace without frees need the memory of one pass."""
    with (
        columns_of(growing(1000, 10_000)) as columns,
        native_process(columns, GLIBC, touch=True) as process,
    ):
        for _ in range(20):
            process.time_pass()
        assert process.memory().samples[:, 2].max() < 15_000_000


def test_a_library_without_malloc_is_not_passed_over(shared_library):
    empty = find_allocator(str(shared_library("int nothing_of_the_kind;")))
    with pytest.raises(SimallocError, match=r"libmade.so cannot .*it does not define malloc"):
        replay_natively(growing(1, 1), [empty])


def test_the_process_ends_with_its_block():
    with (
        columns_of(growing(1, 1)) as columns,
        native_process(columns, GLIBC, touch=False) as process,
    ):
        inner = process._process
        assert inner.poll() is None
    assert inner.poll() is not None
