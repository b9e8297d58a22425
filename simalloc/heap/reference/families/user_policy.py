"""A policy in Python as a heap with the families' interface."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from simalloc.errors import PolicyError, SimallocError
from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.space import Refused
from simalloc.heap.reference.user_policies.block import Place
from simalloc.heap.reference.user_policies.heap import UserHeap
from simalloc.policy import UserCode, UserPolicy


class UserPolicyHeap(Heap):
    """Lets a policy in Python decide, and checks that its actions are possible."""

    def __init__(self, description: UserCode) -> None:
        super().__init__()
        self._description = description
        self._heap = UserHeap()
        self.blocks = self._heap.blocks

    @cached_property
    def _policy(self) -> UserPolicy:
        return self._description.decider(self.trace)

    def malloc(self, size: int) -> int:
        """Take the block that the policy returns; None refuses the request."""
        self._heap.begin()
        named = {name: getattr(self.request, name) for name in self._description.named_columns}
        block = self._decide(partial(self._policy.malloc, **named), size)
        self.visited = self._heap.visited
        if block is None:
            raise Refused
        return self._heap.hold(block, size)

    def free(self, address: int) -> None:
        """Pass a block to the policy."""
        self._decide(self._policy.free, self._heap.let_go(address))

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Let the policy resize a block; return whether it succeeded."""
        block = self._heap.let_go(address)
        before = block.size
        self._heap.resized = block
        resized = self._decide(self._policy.resize, block, size)
        self._heap.resized = None
        if not isinstance(resized, bool) or (block.place, block.address) != (
            Place.UNSEARCHABLE,
            address,
        ):
            raise PolicyError(f"resize returned {resized!r}, but changed {block}")
        if not resized and block.size != before:
            raise PolicyError(f"resize returned False, but changed {block}")
        self._heap.hold(block, size if resized else 0)
        return resized

    def listed(self) -> list[int]:
        """Return all free blocks; the policy may keep some of them outside the lists."""
        return [address for address, _ in self.free_blocks()]

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        for block in self._heap.listed():
            assert block.place is Place.LISTED
            assert self._heap.at(block.address) is block

    def _decide(self, method: Callable[..., Any], *arguments: object) -> Any:
        heap = self._heap
        heap.number = self.event
        heap.acting = True
        try:
            return method(heap, *arguments)
        except SimallocError:
            raise
        except Exception as error:
            raise PolicyError(f"{type(error).__name__}: {error}") from error
        finally:
            heap.acting = False
            self.growths, self.splits = heap.growths, heap.splits
            self.coalescings = heap.coalescings
