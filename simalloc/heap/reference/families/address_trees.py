"""Address-ordered binary trees, one or several by size."""

from __future__ import annotations

from simalloc.heap.reference.parts.address_tree import AddressTree, Node
from simalloc.heap.reference.parts.classed_heap import ClassedHeap
from simalloc.heap.reference.parts.size_class import SizeClasses
from simalloc.policy.families.address_trees import AddressTrees, TreeFit
from simalloc.policy.parts import Coalescing


class AddressTreesHeap(ClassedHeap):
    """ABT and SBT (Rezaei & Kavi 2016, 4; simalloc/policy/families/address_trees.md)."""

    def __init__(self, description: AddressTrees) -> None:
        classes = SizeClasses(description.trees, description.interval)
        super().__init__(description, classes)
        self._fit = description.fit
        self._rebalance = description.rebalance
        self._deallocations = 0
        self._trees = [AddressTree() for _ in range(len(classes))]
        self._nodes: dict[int, Node] = {}

    def free(self, address: int) -> None:
        """Insert the block; rebuild the trees after every `rebalance` deallocations."""
        super().free(address)
        self._deallocations += 1
        if self._rebalance and self._deallocations % self._rebalance == 0:
            for tree in self._trees:
                tree.rebalance()

    def listed(self) -> list[int]:
        """Return the addresses of all nodes."""
        return [node.address for tree in self._trees for node in tree]

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        for number, tree in enumerate(self._trees):
            tree.check()
            for node in tree:
                assert self._nodes[node.address] is node
                assert self.block_size(node.address) == node.size
                assert self._classes.of(node.size) == number, "a block is in the tree of its size"

    def _search(self, number: int, size: int) -> tuple[int | None, int]:
        tree = self._trees[number]
        if self._fit is TreeFit.FIRST:
            node, searched = tree.first_fit(size)
        elif self._fit is TreeFit.BEST:
            node, searched = tree.best_fit(size)
        else:
            node, searched = tree.better_fit(size)
        return (None if node is None else node.address), searched

    def _enter(self, address: int) -> int:
        """Insert a block; insert it again after each merge that moves it to another tree."""
        visited = 0
        while True:
            size = self.block_size(address)
            number = self._classes.of(size)
            tree = self._trees[number]
            meets = self._coalescing is Coalescing.ONE
            node, met, searched = tree.insert(address, size, meets=meets)
            visited += searched
            if not met:
                self._nodes[address] = node
                return visited
            del self._nodes[node.address]
            address = min(address, node.address)
            self._coalesce(address)
            if self._classes.of(self.block_size(address)) == number:
                tree.change(node, address, self.block_size(address))
                self._nodes[address] = node
                return visited
            tree.delete(node)

    def _leave(self, address: int) -> None:
        number = self._classes.of(self.block_size(address))
        self._trees[number].delete(self._nodes.pop(address))

    def _move(self, address: int, rest: int) -> None:
        node = self._nodes.pop(address)
        size = self.block_size(rest)
        self._trees[self._classes.of(size)].change(node, rest, size)
        self._nodes[rest] = node
