"""Plain Python and the C core agree on the pages of the free memory for drawn traces."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.replay import in_steps
from simalloc.heap.reference.space import Residence, State
from simalloc.heap.running.setting import Setting
from simalloc.measure import waste
from simalloc.policy import HEAP_POLICIES
from traces import ONLINE, cases


class TouchedToo(Residence):
    """Residence that also records the pages that were resident since they were mapped."""

    def __init__(self, page):
        super().__init__(page)
        self.touched = Residence(page)
        self.is_returned = False

    def touch(self, address, size):
        super().touch(address, size)
        self.touched.touch(address, size)

    def discard(self, address, size):
        super().discard(address, size)
        if not self.is_returned:
            self.touched.discard(address, size)

    def use_huge_pages(self, address, size):
        super().use_huge_pages(address, size)
        self.touched.use_huge_pages(address, size)


def discard(heap, address, size):
    """Return pages to the system that remain mapped, as the family requests."""
    residence = heap.blocks.residence
    residence.is_returned = True
    residence.discard(address, size)
    residence.is_returned = False


def bytes_in(residence, address, size):
    """Return the number of the range's bytes in recorded pages."""
    inside = residence.within(address, size)
    return sum(min(end, address + size) - max(start, address) for start, end in inside)


def free_by_page(case):
    """Return the free bytes at the end in plain Python: resident, never touched, returned."""
    asked = case.options | {"resident": True, "occupied": ()}
    setting = Setting.of(case.trace, case.policy, **asked)
    *_, (heap, _, _) = in_steps(setting)
    blocks, residence = heap.blocks, heap.blocks.residence
    free = [
        (address, blocks.size[address])
        for address, state in blocks.state.items()
        if state in {State.FREE, State.CACHED}
    ]
    whole = sum(size for _, size in free)
    resident, touched = (
        sum(bytes_in(pages, *block) for block in free) for pages in (residence, residence.touched)
    )
    return np.array([resident, whole - touched, touched - resident]) / case.scale


@pytest.mark.parametrize("name", ONLINE)
@settings(max_examples=-(-settings().max_examples // 3))
@given(data=st.data())
def test_on_drawn_traces(name, data):
    case = data.draw(cases(HEAP_POLICIES[name]))
    try:
        run = simulate(case.trace, case.policy, **case.options)
    except SimallocError:
        return
    if not len(case.trace):
        return
    found = waste(case.trace, run, len(case.trace) - 1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Heap, "discard", discard)
        patched.setattr(sys.modules[in_steps.__module__], "Residence", TouchedToo)
        expected = free_by_page(case)
    parts = [found.free_resident, found.free_untouched, found.free_purged]
    assert parts == pytest.approx(list(expected))
