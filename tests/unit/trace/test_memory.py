"""Memory that is reused."""

import numpy as np
import pytest

from simalloc.trace import ReplayedEvents, memory
from simalloc.trace.memory import KEPT, PIECE, borrow


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(memory, "_kept", [])


def address(array):
    return array.__array_interface__["data"][0]


def test_what_nobody_holds_is_given_out_again():
    first = borrow(100)
    place = address(first)
    del first
    assert address(borrow(PIECE)) == place


def test_what_somebody_holds_a_view_of_is_not():
    events = ReplayedEvents.empty(1000)
    ops = memoryview(events.op[:10].view(np.int16))
    ops[0] = 7
    del events
    others = [borrow(100) for _ in range(10)]
    for other in others:
        other[:] = 0
    assert ops[0] == 7
    assert len({address(other) for other in others}) == 10


def test_no_more_than_a_few_pieces_are_kept():
    held = [borrow(1) for _ in range(KEPT + 5)]
    assert memory._kept == []
    del held
    assert len(memory._kept) == KEPT


def test_more_than_a_piece_is_not_kept():
    assert len(borrow(PIECE + 1)) == PIECE + 1
    assert memory._kept == []


def test_a_kernel_without_huge_pages_will_do(monkeypatch):
    monkeypatch.setattr(memory.mmap, "MADV_HUGEPAGE", 999)  # advice that no kernel supports
    piece = borrow(100)
    piece[:] = 7
    assert piece.sum() == 700


def test_running_out_of_address_space_is_running_out_of_memory(monkeypatch):
    def refuse(*_args, **_options):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(memory.mmap, "mmap", refuse)
    with pytest.raises(MemoryError):
        borrow(100)
