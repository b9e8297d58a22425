"""The space of the reference engine: segments, and the states of blocks."""

import pytest

from simalloc.errors import SimallocError
from simalloc.heap.reference.space import MAX_BREAK, Blocks, State


def test_the_break_rises_and_falls():
    blocks = Blocks()
    low, high = blocks.extend(100), blocks.extend(50)
    assert (low, high, blocks.last, blocks.mapped) == (0, 100, 100, 150)
    blocks.lower(20)
    assert (blocks.brk, blocks.size[high], blocks.mapped) == (130, 30, 130)
    blocks.lower(30)
    assert (blocks.brk, blocks.last, blocks.after(low)) == (100, low, None)
    blocks.lower(100)
    assert (blocks.brk, blocks.last, blocks.mapped, blocks.size) == (0, None, 0, {})
    assert blocks.extend(8) == 0
    blocks.check()


def test_segments_are_not_neighbours():
    blocks = Blocks()
    blocks.extend(100)
    first, second = blocks.map_segment(10), blocks.map_segment(20)
    assert (first, second) == (MAX_BREAK, MAX_BREAK + blocks.page)
    assert blocks.after(first) is blocks.before(second) is None
    inner = blocks.cut(second, 5)
    assert (blocks.after(second), blocks.before(inner), blocks.after(inner)) == (
        inner,
        second,
        None,
    )
    assert blocks.mapped == 130
    blocks.check()


def test_an_address_is_not_used_again():
    blocks = Blocks(has_break=False)
    assert blocks.map_segment(10) == 0
    blocks.unmap_segment(0)
    assert (blocks.mapped, blocks.map_segment(10, alignment=16)) == (0, blocks.page)
    blocks.check()


def test_a_segment_of_two_blocks_is_not_unmapped():
    blocks = Blocks(has_break=False)
    blocks.cut(blocks.map_segment(10), 4)
    with pytest.raises(AssertionError, match="one block"):
        blocks.unmap_segment(0)


def test_holes_are_not_mapped():
    blocks = Blocks(has_break=False)
    blocks.mark(blocks.cut(blocks.map_segment(10), 4), State.HOLE)
    assert (blocks.mapped, blocks.total[State.HOLE], blocks.count[State.HOLE]) == (4, 6, 1)
    blocks.mark(4, State.CACHED)
    assert blocks.mapped == 10
    blocks.check()


def test_addresses_end():
    blocks = Blocks()
    blocks.extend(MAX_BREAK)
    with pytest.raises(SimallocError, match="2\\*\\*62"):
        blocks.extend(1)
    blocks.map_segment(MAX_BREAK)
    assert blocks.last == 0
    assert blocks.after(0) is None
    with pytest.raises(SimallocError, match="2\\*\\*62"):
        blocks.map_segment(1)
