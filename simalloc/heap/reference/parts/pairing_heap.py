"""A pairing heap that merges inserted nodes lazily, as jemalloc keeps its extents."""

from __future__ import annotations

from collections import deque
from typing import Any, Generic, Protocol, TypeVar


class HeapNode(Protocol):
    """A node of a pairing heap, with its key and its links."""

    child: Any
    sibling: Any
    before: Any
    """Parent of a first child; previous sibling of any other node."""

    @property
    def key(self) -> tuple[int, ...]:
        """The sort key."""


Node = TypeVar("Node", bound=HeapNode)


class PairingHeap(Generic[Node]):
    """A pairing heap of nodes by key; its shape is part of the rules.

    Inserted nodes form a chain of siblings of the root, the newest first. The chain waits to be
    merged under the root.
    """

    def __init__(self) -> None:
        self._root: Node | None = None
        self._waiting = 0

    def __bool__(self) -> bool:
        """Return whether the heap contains a node."""
        return self._root is not None

    def insert(self, node: Node) -> None:
        """Insert a node as the root, or else into the chain; then merge pairs of the chain.

        A node with the smallest key becomes the root. After the `n`-th insertion into the chain,
        `n` counted from the latest new root or merging of the chain, as many pairs are merged as
        `n` has trailing zero bits.
        """
        node.child = node.sibling = node.before = None
        root = self._root
        if root is None:
            self._root = node
        elif node.key < root.key:
            node.child, root.before = root, node
            self._root, self._waiting = node, 0
            return
        else:
            self._waiting += 1
            _link(node, root.sibling)
            _link(root, node)
        if self._waiting > 1:
            count = self._waiting
            for _ in range((count & -count).bit_length() - 1):
                if not self._merge_pair():
                    break

    def least(self) -> Node:
        """Return the node with the smallest key; merges the chain."""
        self._merge_chain()
        assert self._root is not None, "the heap has a node"
        return self._root

    def remove(self, node: Node) -> None:
        """Remove a node; its children are merged into one node, which takes its place."""
        if node is self._root:
            if node.child is None:
                self._root = node.sibling
                if self._root is not None:
                    self._root.before = None
                return
            self._merge_chain()
            if node is self._root:
                self._root = _merge_siblings(node.child)
                return
        place = _merge_siblings(node.child)
        if place is None:
            place = node.sibling
            if place is not None:
                place.before = node.before
        else:
            place.before = node.before
            _link(place, node.sibling)
        if node.before.child is node:
            node.before.child = place
        else:
            node.before.sibling = place

    def breadth_first(self, most: int) -> list[Node]:
        """Return at most `most` nodes from the root on: for each, its child, then its sibling."""
        queue = deque([self._root] if self._root is not None else [])
        found: list[Node] = []
        while queue and len(found) < most:
            node = queue.popleft()
            found.append(node)
            queue.extend(other for other in (node.child, node.sibling) if other is not None)
        return found

    def _merge_pair(self) -> bool:
        """Merge the first two nodes of the chain; return whether more nodes follow."""
        assert self._root is not None, "the chain begins at the root"
        first = self._root.sibling
        second = None if first is None else first.sibling
        if second is None:
            return False
        rest = second.sibling
        merged = _merge(first, second)
        _link(merged, rest)
        _link(self._root, merged)
        return rest is not None

    def _merge_chain(self) -> None:
        """Merge all nodes of the chain with the root."""
        self._waiting = 0
        root = self._root
        if root is not None and root.sibling is not None:
            chain, root.sibling = root.sibling, None
            self._root = _merge(root, _merge_siblings(chain))


def _link(node: Any, sibling: Any) -> None:
    node.sibling = sibling
    if sibling is not None:
        sibling.before = node


def _merge(one: Any, other: Any) -> Any:
    """Make the root with the greater key the first child of the other root."""
    low, high = (one, other) if one.key < other.key else (other, one)
    low.before = low.sibling = None
    high.before = low
    _link(high, low.child)
    low.child = high
    return low


def _merge_siblings(first: Any) -> Any:
    """Merge siblings into one node.

    The siblings are first merged in pairs. The results form a queue, whose first two nodes are
    merged and put at its end until one is left.
    """
    queue: deque[Any] = deque()
    while first is not None:
        queue.append(first)
        first = first.sibling
    if len(queue) > 1:
        pairs = len(queue) // 2
        odd = len(queue) % 2
        merged = deque(_merge(queue.popleft(), queue.popleft()) for _ in range(pairs))
        if odd:
            merged.append(queue.popleft())
        queue = merged
    while len(queue) > 1:
        queue.append(_merge(queue.popleft(), queue.popleft()))
    if not queue:
        return None
    queue[0].before = queue[0].sibling = None
    return queue[0]
