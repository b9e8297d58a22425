"""Copies of memory that a running process changes (here, the memory of this process)."""

import mmap
import os

import numpy as np
import pytest

from simalloc.process import LiveProcess
from simalloc.process.attach.held import HeldProcess
from simalloc.process.mappings import PAGE
from simalloc.process.region import ABSENT, PRESENT

PAGES = 700
"""Number of pages that several threads copy; a thread's last group of pages is not full."""


@pytest.fixture
def memory():
    """Memory in which every third page is absent."""
    made = mmap.mmap(-1, PAGES * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    made.madvise(mmap.MADV_NOHUGEPAGE)
    rows = np.frombuffer(made, np.uint8).reshape(PAGES, PAGE)
    for page in range(PAGES):
        if page % 3:
            rows[page] = page % 251 + 1
    return made, rows


@pytest.mark.parametrize("kind", [LiveProcess, HeldProcess])
def test_a_copy_has_the_bytes_of_all_pages_and_makes_none_present(memory, kind):
    _, rows = memory
    process, start = kind(os.getpid()), rows.ctypes.data
    there = np.arange(PAGES) % 3 != 0
    region = process.region(start, start + PAGES * PAGE)
    assert ((region.pages != ABSENT) == there).all()
    again = LiveProcess(os.getpid()).pages(start, start + PAGES * PAGE)
    assert ((again != ABSENT) == there).all()
    assert (region.data.reshape(PAGES, PAGE) == rows).all()


def test_a_copy_that_is_used_again_follows_every_change(memory):
    made, rows = memory
    process, start = LiveProcess(os.getpid()), rows.ctypes.data
    region = process.region(start, start + PAGES * PAGE)
    first = region.data
    rows[::6] = 7
    made.madvise(mmap.MADV_DONTNEED, 100 * PAGE, 300 * PAGE)
    region = process.region(start, start + (PAGES - 300) * PAGE, region)
    made.madvise(mmap.MADV_DONTNEED, 500 * PAGE, 100 * PAGE)
    region = process.region(start, start + PAGES * PAGE, region)  # trimmed, then grown again
    assert np.shares_memory(region.data, first)
    assert (region.pages[100:400] == ABSENT).all()
    assert (region.pages[:100:6] == PRESENT).all()
    assert (region.data.reshape(PAGES, PAGE) == rows).all()


def test_a_range_without_memory_is_absent_and_zero():
    region = LiveProcess(os.getpid()).region(0, 16 * PAGE)
    assert not region.pages.any()
    assert not region.data.any()
