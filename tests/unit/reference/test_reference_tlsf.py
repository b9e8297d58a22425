"""TLSF on heaps small enough to follow policy/families/tlsf.md by hand."""

from small_traces import heap_with

from simalloc.policy.families.tlsf import Tlsf


def heap(*sizes, **parameters):
    """Return a heap with objects of `sizes`; lists are 4 apart up to 256 bytes, then 8 ..."""
    return heap_with(Tlsf(**parameters), *sizes)


def test_a_list_is_not_searched_but_passed_by():
    made = heap(303, 1, 304, 1, 320, 1)
    for address in (304, 0, 609):
        made.free(address)
    assert (made.malloc(300), made.visited) == (304, 1)  # 303 bytes are in the list at 296
    assert made.malloc(297) == 609
    assert made.malloc(296) == 0


def test_the_tail_is_used_last_and_grows():
    made = heap(100, 200, 50)
    made.free(300)
    made.free(0)
    assert (made.malloc(60), made.visited) == (0, 1)
    made.free(0)
    assert (made.malloc(120), made.visited) == (300, 0)
    assert (made.brk, made.growths, made.coalescings) == (420, 4, 2)


def test_the_tail_is_split_however_little_is_left_of_what_was_used():
    made = heap(40, 24, minimum_split=16)
    made.free(40)
    assert (made.malloc(16), made.free_blocks()) == (40, [(56, 8)])
    assert (made.malloc(20), made.brk) == (56, 76)
