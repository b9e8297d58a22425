"""The work of a cluster's worker: to fetch a trace once, and to replay it as requested."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Final

from simalloc.errors import SimallocError, TraceError
from simalloc.machine import memory_bytes
from simalloc.sweep.task import Outcome, Task, carry_out
from simalloc.trace import EventSource
from simalloc.version import code_version

if TYPE_CHECKING:
    from simalloc.sweep.source import Source


class TraceCache:
    """The traces that a process has fetched, by content; the one used longest ago goes first.

    They take up to `budget` bytes, but the latest is kept whatever it takes. A file whose trace
    would take more than `largest` bytes is streamed, if that is given.
    """

    def __init__(self, budget: int, largest: int | None = None) -> None:
        self._budget = budget
        self._largest = largest
        self._traces: OrderedDict[str, tuple[EventSource, int]] = OrderedDict()
        self._lock = Lock()
        self._fetching: defaultdict[str, Lock] = defaultdict(Lock)

    def get(self, source: Source, packed: bytes | None) -> EventSource:
        """Return a trace, from memory or from its source, or else from the bytes of its file."""
        if self._largest is not None and source.memory > self._largest:
            source = source.streamed()
        with self._lock:
            fetching = self._fetching[source.sha256]
        with fetching:  # of several threads that want a trace, one fetches it
            trace = self._kept(source)
            if trace is None:
                trace = source.load() if packed is None else source.unpack(packed)
                self._keep(source, trace)
            return trace

    def _kept(self, source: Source) -> EventSource | None:
        with self._lock:
            if source.sha256 not in self._traces:
                return None
            self._traces.move_to_end(source.sha256)
            return self._traces[source.sha256][0]

    def _keep(self, source: Source, trace: EventSource) -> None:
        with self._lock:
            self._traces[source.sha256] = trace, source.memory
            while len(self._traces) > 1 and self._size() > self._budget:
                self._traces.popitem(last=False)

    def _size(self) -> int:
        return sum(size for _, size in self._traces.values())


_SHARE: Final = memory_bytes() // 4

CACHE: Final = TraceCache(_SHARE, largest=_SHARE)
"""Keeps traces up to a quarter of the machine's memory, and streams a file that would fill more."""


def carry_out_batch(
    tasks: Sequence[Task],
    code: str,
    packed: bytes | None = None,
    *,
    cache: TraceCache | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Outcome] | None:
    """Replay one trace for several tasks.

    `code` is the version that the results must have. The trace comes from its path or, if `packed`
    is given, from the bytes of its file. The result None means that the path is invalid on this
    machine and the bytes are needed. `cache` keeps the trace; by default the cache of this process.
    """
    if code_version() != code:
        raise SimallocError(
            f"this worker has simalloc {code_version()}, and the sweep is of {code}"
        )
    try:
        trace = (CACHE if cache is None else cache).get(tasks[0].source, packed)
    except (OSError, TraceError):
        if packed is not None:
            raise
        return None
    return [carry_out(task, trace, progress) for task in tasks]
