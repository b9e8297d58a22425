"""A binary search tree of free blocks by address, without automatic balancing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(eq=False)
class Node:
    """A free block in the tree, and the largest size in each of its subtrees (0 if empty)."""

    address: int
    size: int
    parent: Node | None = None
    left: Node | None = None
    right: Node | None = None
    max_left: int = 0
    max_right: int = 0

    @property
    def largest(self) -> int:
        """Largest size in the subtree with this root."""
        return max(self.size, self.max_left, self.max_right)

    def is_beside(self, address: int, size: int) -> bool:
        """Return whether a block ends where this one begins, or begins where this one ends."""
        return address + size == self.address or self.address + self.size == address


class AddressTree:
    """The tree; simalloc/policy/families/address_trees.md defines its shape."""

    def __init__(self) -> None:
        self.root: Node | None = None

    def __iter__(self) -> Iterator[Node]:
        """Iterate over the nodes in address order."""
        path: list[Node] = []
        node = self.root
        while node is not None or path:
            while node is not None:
                path.append(node)
                node = node.left
            node = path.pop()
            yield node
            node = node.right

    def insert(self, address: int, size: int, *, meets: bool) -> tuple[Node, bool, int]:
        """Add a block as a new leaf; with `meets`, stop at the first node adjacent to it.

        Returns the node, whether it is an unchanged adjacent node, and the number of visited nodes.
        """
        visited = 0
        parent, node = None, self.root
        while node is not None:
            visited += 1
            if meets and node.is_beside(address, size):
                return node, True, visited
            parent, node = node, node.left if address < node.address else node.right
        leaf = Node(address, size, parent)
        if parent is None:
            self.root = leaf
        elif address < parent.address:
            parent.left = leaf
        else:
            parent.right = leaf
        _adjust(parent)
        return leaf, False, visited

    def change(self, node: Node, address: int, size: int) -> None:
        """Change a node's block. The order of the nodes must not change."""
        node.address, node.size = address, size
        _adjust(node.parent)

    def delete(self, node: Node) -> None:
        """Remove a node; a node with two children is replaced by the next higher node."""
        if node.left is None or node.right is None:
            self._replace(node, node.left or node.right)
            _adjust(node.parent)
            return
        following = node.right
        while following.left is not None:
            following = following.left
        self.delete(following)
        # The deletion may have changed the right subtree, therefore read the children only now.
        following.left, following.right = node.left, node.right
        for child in (following.left, following.right):
            if child is not None:
                child.parent = following
        self._replace(node, following)
        _adjust(following)

    def first_fit(self, size: int) -> tuple[Node | None, int]:
        """Return the lowest node of at least `size`, and the number of visited nodes."""
        visited, node = 0, self.root
        while node is not None:
            visited += 1
            if node.max_left >= size:
                node = node.left
            elif node.size >= size:
                break
            else:
                node = node.right if node.max_right >= size else None
        return node, visited

    def better_fit(self, size: int) -> tuple[Node | None, int]:
        """Descend to the smallest known size that fits; return as `first_fit` does.

        The known sizes at a node are its own size and the largest size of each subtree. Of equal
        sizes, the node's own is preferred, then the left subtree's.
        """
        visited, node = 0, self.root
        while node is not None:
            visited += 1
            known = (node.size, node.max_left, node.max_right)
            fitting = min((one for one in known if one >= size), default=None)
            if fitting == node.size:
                break
            if fitting is None:
                node = None
            else:
                node = node.left if fitting == node.max_left else node.right
        return node, visited

    def best_fit(self, size: int) -> tuple[Node | None, int]:
        """Return the smallest node of at least `size`, and the number of visited nodes.

        Of nodes of equal size, the one with the lowest address is returned.
        """
        visited = 0
        best: Node | None = None
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node is None:
                continue
            visited += 1
            fits = node.size >= size
            if fits and (best is None or (node.size, node.address) < (best.size, best.address)):
                best = node
            waiting += [node.left] * (node.max_left >= size)
            waiting += [node.right] * (node.max_right >= size)
        return best, visited

    def rebalance(self) -> None:
        """Rebuild the tree from its nodes; a root of `k` nodes has `k // 2` on its left."""
        nodes = list(self)
        self.root = _balanced(nodes, 0, len(nodes), None)

    def check(self) -> None:
        """Assert that the tree is ordered, that its links match and its sizes are up to date."""
        nodes = list(self)
        addresses = [node.address for node in nodes]
        assert addresses == sorted(set(addresses)), "the tree is in the order of addresses"
        for node in nodes:
            for child, largest in ((node.left, node.max_left), (node.right, node.max_right)):
                assert largest == (child.largest if child is not None else 0)
                assert child is None or child.parent is node
            assert node.parent is not None or node is self.root

    def _replace(self, node: Node, other: Node | None) -> None:
        """Replace a node by `other` under its parent."""
        if other is not None:
            other.parent = node.parent
        if node.parent is None:
            self.root = other
        elif node.parent.left is node:
            node.parent.left = other
        else:
            node.parent.right = other


def _adjust(node: Node | None) -> None:
    """Update the largest sizes, from a node up to the root."""
    while node is not None:
        node.max_left = node.left.largest if node.left is not None else 0
        node.max_right = node.right.largest if node.right is not None else 0
        node = node.parent


def _balanced(nodes: list[Node], low: int, high: int, parent: Node | None) -> Node | None:
    """Link `nodes[low:high]` to a balanced tree under `parent`; return its root."""
    if low == high:
        return None
    middle = low + (high - low) // 2
    root = nodes[middle]
    root.parent = parent
    root.left = _balanced(nodes, low, middle, root)
    root.right = _balanced(nodes, middle + 1, high, root)
    root.max_left = root.left.largest if root.left is not None else 0
    root.max_right = root.right.largest if root.right is not None else 0
    return root
