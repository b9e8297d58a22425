"""The malloc of SunOS 4: better fit in a Cartesian tree (simalloc/policy/families/cartesian.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import State, needed_by_allocator
from simalloc.policy.families.cartesian import Cartesian

_NODES = 512
"""Number of nodes in an array."""


@dataclass(eq=False, slots=True)
class _Node:
    """A free block in the tree: larger blocks are higher, lower addresses are to the left."""

    address: int
    size: int
    left: _Node | None = None
    right: _Node | None = None


class CartesianHeap(Heap):
    """Better fit in a Cartesian tree (Stephenson 1983), whose nodes are outside the blocks."""

    counts_frees = True

    def __init__(self, description: Cartesian) -> None:
        super().__init__()
        overhead = description.applied_overhead
        self._min = overhead.minimum if description.mechanism else 0
        word = description.word
        self._array = _NODES * 4 * word + overhead.header if description.mechanism else 0
        self._growth = description.growth
        self._root: _Node | None = None
        self._nodes = 0
        self._spare = 0
        # Number of nodes visited while blocks entered or left the tree by address.
        self._nodes_visited = 0

    def malloc(self, size: int) -> int:
        """Descend from the root to the smaller child that fits, until neither child fits."""
        if _weight(self._root) < size:
            self._more(size)
        parent, node = None, self._root
        self.visited = 0
        while node is not None:
            self.visited += 1
            child = _better(node, size)
            if child is None:
                break
            parent, node = node, child
        assert node is not None, "the root is large enough"
        address = node.address
        if node.size - size <= self._min:
            self._replace(parent, node, _merged(node.left, node.right))
            self._spare += 1
        else:
            node.address = self._split(address, size)
            node.size -= size
            self._replace(parent, node, _merged(node.left, node.right, node))
        self.blocks.mark(address, State.ALLOCATED)
        return address

    def free(self, address: int) -> None:
        """Merge with both neighbours, and insert the result into the tree."""
        visited, coalescings = self._nodes_visited, self.coalescings
        self._give(address)
        self.count_deallocation(
            self._nodes_visited - visited, merged=self.coalescings != coalescings
        )

    def _give(self, address: int) -> None:
        """Insert a block into the tree, merged with its free neighbours, which leave the tree."""
        self._insert(self._merge_freed(address, self._remove))

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Join a free successor that makes the block large enough; free the remainder."""
        have = self.block_size(address)
        if have < size:
            after = self.blocks.after(address)
            if not self.blocks.is_free(after):
                return False
            if have + self.block_size(after) < size:
                return False
            self._remove(after)
            self.blocks.mark(after, State.ALLOCATED)
            self.blocks.join(address)
        if self.block_size(address) - size >= max(self._min, 1):
            self._give(self._split(address, size))
        return True

    def listed(self) -> list[int]:
        """Return the blocks in the tree."""
        return [node.address for node in self._walk()]

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        for node in self._walk():
            assert node.size == self.block_size(node.address), "a node has the size of its block"
            assert node.size >= max(_weight(node.left), _weight(node.right)), (
                "a node is at least as large as its children"
            )
        self._check_merged()

    def _more(self, size: int) -> None:
        """Raise the break by whole units, regardless of free memory at the heap's end."""
        if not self._nodes:
            self._need_node()
            self._spare += 1
        self._give(self._grow(round_up(size, self._growth)))

    def _need_node(self) -> None:
        """Take a node. If no node is free, place a new array of nodes on top of the heap."""
        if not self._spare:
            if self._array:
                self.blocks.mark(self._grow(self._array), State.TABLE)
            self._nodes += _NODES
            self._spare += _NODES
        self._spare -= 1

    def _insert(self, address: int) -> None:
        """Insert a free block above the first smaller node on its path; divide that subtree."""
        with needed_by_allocator():
            self._need_node()
        new = _Node(address, self.block_size(address))
        parent, node = None, self._root
        self._nodes_visited += node is not None
        while node is not None and node.size >= new.size:
            parent, node = node, node.left if address < node.address else node.right
            self._nodes_visited += node is not None
        new.left, new.right = _divided(node, address)
        self._hang(parent, new, address)

    def _remove(self, address: int) -> None:
        """Remove a block from the tree; its merged subtrees take its place."""
        parent, node = None, self._root
        self._nodes_visited += 1
        while node is not None and node.address != address:
            parent, node = node, node.left if address < node.address else node.right
            self._nodes_visited += 1
        assert node is not None, "a free block is in the tree"
        self._replace(parent, node, _merged(node.left, node.right))
        self._spare += 1

    def _replace(self, parent: _Node | None, node: _Node, by: _Node | None) -> None:
        if parent is None:
            self._root = by
        elif parent.left is node:
            parent.left = by
        else:
            parent.right = by

    def _hang(self, parent: _Node | None, node: _Node, address: int) -> None:
        if parent is None:
            self._root = node
        elif address < parent.address:
            parent.left = node
        else:
            parent.right = node

    def _walk(self) -> Iterator[_Node]:
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            if node is not None:
                yield node
                waiting += (node.left, node.right)


def _weight(node: _Node | None) -> int:
    return 0 if node is None else node.size


def _better(node: _Node, size: int) -> _Node | None:
    """Return the smaller child that fits, the left one of equals, or None."""
    fitting = [child for child in (node.left, node.right) if child and child.size >= size]
    return min(fitting, key=_weight, default=None)


def _merged(left: _Node | None, right: _Node | None, last: _Node | None = None) -> _Node | None:
    """Merge two trees, the left one wholly below the right one; of equal roots the left is higher.

    If `last` is given, nodes larger than `last` are placed above it, and the remaining nodes below
    it.
    """
    top = _Node(0, 0)
    hook, is_left = top, True
    while max(_weight(left), _weight(right)) > _weight(last):
        take_left = _weight(left) >= _weight(right)
        node = left if take_left else right
        assert node is not None, "the larger subtree is not empty"
        _attach(hook, node, is_left=is_left)
        if take_left:
            left = node.right
        else:
            right = node.left
        hook, is_left = node, not take_left
    _attach(hook, last, is_left=is_left)
    if last is not None:
        last.left, last.right = left, right
    return top.left


def _divided(node: _Node | None, address: int) -> tuple[_Node | None, _Node | None]:
    """Divide a tree into the nodes below and the nodes above an address."""
    low, high = _Node(0, 0), _Node(0, 0)
    low_hook, high_hook = low, high
    while node is not None:
        if node.address < address:
            low_hook.right = node
            low_hook, node = node, node.right
        else:
            high_hook.left = node
            high_hook, node = node, node.left
    low_hook.right = high_hook.left = None
    return low.right, high.left


def _attach(hook: _Node, node: _Node | None, *, is_left: bool) -> None:
    if is_left:
        hook.left = node
    else:
        hook.right = node
