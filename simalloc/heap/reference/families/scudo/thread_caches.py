"""The local caches of threads under Scudo (simalloc/policy/families/scudo.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from simalloc.heap.reference.families.scudo.local_cache import LocalCache
from simalloc.heap.reference.families.scudo.quarantine import Waiting


@dataclass(eq=False)
class Local:
    """A local cache, and the quarantined blocks freed through it."""

    cache: LocalCache
    waiting: Waiting = field(default_factory=Waiting)


class Locals:
    """The local caches: one per thread, or `shared` caches for all threads if not 0.

    If each thread has a cache, all threads that have only freed so far share the fallback cache.
    """

    def __init__(self, new: Callable[[], Local], shared: int) -> None:
        self._new = new
        self._fallback = None if shared else new()
        self._shared = [new() for _ in range(shared)]
        self._own: dict[int, Local] = {}

    def of(self, thread: int, *, only_frees: bool = False) -> Local:
        """Return the local cache that a thread uses for an operation."""
        local = self._own.get(thread)
        if local is not None:
            return local
        if self._shared:
            local = self._shared[len(self._own) % len(self._shared)]
        elif only_frees and self._fallback is not None:
            return self._fallback
        else:
            local = self._new()
        self._own[thread] = local
        return local

    def end(self, thread: int) -> Local | None:
        """Return the cache of an exiting thread, or None if it was shared or missing."""
        return None if self._shared else self._own.pop(thread, None)

    def reached(self, thread: int) -> list[Local]:
        """Return the caches that M_PURGE_ALL empties: own and fallback, or all shared caches."""
        if self._fallback is None:
            return self._shared
        own = self._own.get(thread)
        return [self._fallback] if own is None else [own, self._fallback]

    def all(self) -> list[Local]:
        """Return all local caches."""
        if self._fallback is None:
            return self._shared
        return [self._fallback, *self._own.values()]
