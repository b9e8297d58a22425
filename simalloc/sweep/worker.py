"""Work of a worker of a cluster: fetching a trace once, and replaying it for several tasks."""

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
    """Least-recently-used cache of the traces that a process has fetched, by content.

    The traces take at most `budget` bytes, but the latest trace is always kept. If `largest` is
    given, a file whose trace would take more than `largest` bytes is streamed.
    """

    def __init__(self, budget: int, largest: int | None = None) -> None:
        self._budget = budget
        self._largest = largest
        self._traces: OrderedDict[str, tuple[EventSource, int]] = OrderedDict()
        self._lock = Lock()
        self._fetching: defaultdict[str, Lock] = defaultdict(Lock)

    def get(self, source: Source, packed: bytes | None) -> EventSource:
        """Return a trace from memory or, if not there, from `packed` or its source."""
        if self._largest is not None and source.memory > self._largest:
            source = source.streamed()
        with self._lock:
            fetching = self._fetching[source.sha256]
        with fetching:  # only one of several threads fetches a trace
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
"""Cache of a quarter of the machine's memory. Files of larger traces are streamed."""


def carry_out_batch(
    tasks: Sequence[Task],
    code: str,
    packed: bytes | None = None,
    *,
    cache: TraceCache | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Outcome] | None:
    """Replay one trace for several tasks.

    `code` is the version that the results must have. The trace is read from its path or, if
    `packed` is given, from the bytes of its file. Returns None if the path is invalid on this
    machine and the bytes are needed. `cache` keeps the trace; the default is the cache of this
    process.
    """
    if code_version() != code:
        raise SimallocError(
            f"this worker has simalloc {code_version()}, but the sweep needs {code}"
        )
    try:
        trace = (CACHE if cache is None else cache).get(tasks[0].source, packed)
    except (OSError, TraceError):
        if packed is not None:
            raise
        return None
    return [carry_out(task, trace, progress) for task in tasks]
