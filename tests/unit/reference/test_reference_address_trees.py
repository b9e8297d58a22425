"""Address trees small enough to follow policy/families/address_trees.md by hand."""

import pytest
from small_traces import heap_with

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.parts.address_tree import AddressTree
from simalloc.policy.families.address_trees import AddressTrees, TreeFit
from simalloc.policy.parts import Coalescing


def heap(*sizes, fit=TreeFit.FIRST, growth=1000, **parameters):
    """Return a heap that grows by 1000 bytes, with blocks of `sizes` allocated from its start."""
    return heap_with(AddressTrees(fit, growth=growth, **parameters), *sizes)


def free(made, *addresses):
    """Free blocks in turn; return the number of nodes that each free visited."""
    before = made.visited_at_free
    seen = []
    for address in addresses:
        made.free(address)
        made.check()
        seen.append(made.visited_at_free - before)
        before = made.visited_at_free
    return seen


def preorder(node):
    """Return the addresses of a subtree in preorder."""
    return [node.address, *preorder(node.left), *preorder(node.right)] if node else []


@pytest.mark.parametrize(
    ("fit", "size", "found", "visited"),
    [
        (TreeFit.FIRST, 70, 90, 2),
        (TreeFit.BETTER, 70, 470, 4),
        (TreeFit.BEST, 70, 470, 4),
        (TreeFit.FIRST, 50, 0, 3),
        (TreeFit.BETTER, 50, 0, 3),
        (TreeFit.BEST, 50, 0, 5),
        (TreeFit.FIRST, 300, 580, 1),
        (TreeFit.BEST, 300, 580, 1),
        (TreeFit.FIRST, 500, 1000, 1),  # nothing fits: only the root is visited
    ],
)
def test_searches(fit, size, found, visited):
    """The root is at 580. Its left child 90 has the children 0 and 320; 470 is right of 320."""
    made = heap(60, 30, 200, 30, 120, 30, 80, 30, fit=fit)
    assert free(made, 90, 0, 320, 470) == [1, 2, 2, 3]
    assert (made.malloc(size), made.visited) == (found, visited)
    made.check()


@pytest.mark.parametrize(
    ("fit", "found", "visited"),
    [(TreeFit.FIRST, 0, 3), (TreeFit.BETTER, 0, 3), (TreeFit.BEST, 710, 5)],
)
def test_a_better_fit_may_miss_the_best(fit, found, visited):
    """60 bytes would fit best, but that subtree contains 200 bytes, the other only 120."""
    made = heap(120, 30, 300, 30, 200, 30, 60, 30, fit=fit, growth=2000)
    free(made, 150, 0, 480, 710)
    assert (made.malloc(50), made.visited) == (found, visited)


def test_without_coalescing_blocks_stay_as_they_are():
    made = heap(100, 100, 100)
    assert free(made, 0, 200, 100) == [1, 2, 3]
    assert made.free_blocks() == [(0, 100), (100, 100), (200, 100), (300, 700)]
    assert made.coalescings == 0


def test_a_freed_block_merges_with_the_first_neighbour_met_and_no_other():
    made = heap(100, 100, 100, 100, coalescing=Coalescing.ONE)
    assert free(made, 0, 200, 100) == [1, 2, 2]
    assert made.free_blocks() == [(0, 200), (200, 100), (400, 600)]
    assert free(made, 300) == [1]  # the root now begins lower
    assert made.free_blocks() == [(0, 200), (200, 100), (300, 700)]
    assert made.coalescings == 2


def test_a_full_merge_takes_both_neighbours():
    made = heap(100, 100, 100, 100, coalescing=Coalescing.ALL)
    assert free(made, 0, 200, 100) == [1, 2, 1]
    assert made.free_blocks() == [(0, 300), (400, 600)]
    assert free(made, 300) == [0]  # the tree is empty
    assert made.free_blocks() == [(0, 1000)]
    assert made.coalescings == 4


@pytest.mark.parametrize(
    ("coalescing", "count_tail", "found", "brk"),
    [
        (Coalescing.NONE, True, 1000, 2000),
        (Coalescing.ONE, True, 800, 2000),
        (Coalescing.ALL, False, 800, 3000),
        (Coalescing.ALL, True, 800, 2000),
    ],
)
def test_growth(coalescing, count_tail, found, brk):
    """A request of 900 bytes finds 200 free at the end of the heap; with coalescing, 1100."""
    made = heap(800, coalescing=coalescing, count_tail=count_tail)
    size = 1100 if coalescing is Coalescing.ALL else 900
    assert (made.malloc(size), made.visited, made.brk) == (found, 1, brk)
    made.check()


def test_eight_trees():
    made = heap(30, trees=8)  # the remainder is in the last tree
    assert (made.malloc(600), made.visited) == (30, 1)  # 370 bytes go to the empty sixth tree
    assert (made.malloc(100), made.visited) == (630, 1)  # the second to fifth trees are empty
    assert free(made, 630) == [0]
    assert (made.malloc(90), made.visited) == (630, 1)
    made.check()


@pytest.mark.parametrize(("trees", "number"), [(8, 7), (9, 7), (1, 0)])
def test_the_last_tree_has_all_that_is_larger(trees, number):
    made = heap_for(AddressTrees(TreeFit.FIRST, trees=trees, growth=500))
    made.malloc(500)
    free(made, 0)
    (tree,) = [number for number, tree in enumerate(made._trees) if tree.root is not None]
    assert tree == number


def test_a_neighbour_in_another_tree_is_not_met():
    made = heap(100, 40, 100, trees=8, coalescing=Coalescing.ONE)
    free(made, 0, 100)
    assert made.free_blocks() == [(0, 100), (100, 40), (240, 760)]


def test_a_merged_block_goes_to_its_tree_and_merges_there():
    made = heap(40, 40, 100, 30, trees=8, coalescing=Coalescing.ONE)
    assert free(made, 0, 80) == [0, 0]
    assert free(made, 40) == [2]  # meets 40 bytes, and as 80 bytes meets 100 in the next tree
    assert made.free_blocks() == [(0, 180), (210, 790)]


def test_a_node_with_two_children_gives_its_place_to_the_next_higher():
    tree = AddressTree()
    nodes = {at: tree.insert(at, at, meets=False)[0] for at in (30, 10, 50, 40, 60)}
    assert preorder(tree.root) == [30, 10, 50, 40, 60]
    for gone, left in ((30, [40, 10, 50, 60]), (40, [50, 10, 60]), (50, [60, 10]), (60, [10])):
        tree.delete(nodes[gone])
        tree.check()
        assert preorder(tree.root) == left


def test_rebalancing():
    made = heap(*[100] * 9, rebalance=4)
    assert free(made, 0, 200, 400, 600) == [1, 2, 3, 4]
    assert preorder(made._trees[0].root) == [400, 200, 0, 900, 600]
    assert free(made, 800) == [3]


def test_a_remainder_without_room_for_a_node_is_not_split_off():
    made = heap(60, 30)
    free(made, 0)
    assert made.malloc(37) == 0
    assert made.block_size(0) == 60
    free(made, 0)
    assert made.malloc(36) == 0
    assert made.block_size(0) == 36
    assert AddressTrees(TreeFit.BEST, word=8).applied_overhead.minimum == 48


def test_in_place():
    made = heap(100, 30, coalescing=Coalescing.ALL)
    assert made.reallocate_in_place(0, 80)
    assert made.block_size(0) == 100  # 20 bytes are too few
    assert made.reallocate_in_place(0, 70)
    assert made.free_blocks() == [(70, 30), (130, 870)]
    assert not made.reallocate_in_place(0, 101)
    assert made.reallocate_in_place(0, 80)
    assert made.block_size(0) == 100  # 20 of the 30 bytes are also too few
    made.check()
    assert made.visited_at_free == 0  # none of these operations was a deallocation
    still = heap(100)
    assert not still.reallocate_in_place(0, 101)
