"""The prices of page faults, system calls and requests on this machine: measured once, and kept."""

from __future__ import annotations

import json
import mmap
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap.real import find_allocators, replay_natively
from simalloc.machine import core_count
from simalloc.trace import Op, Trace

_PAGE: Final = mmap.PAGESIZE
_AREA: Final = 16 << 20
_ROUNDS: Final = 5
_CALLS: Final = 2000
_REQUESTS: Final = 100_000


@dataclass(frozen=True)
class Prices:
    """Seconds of CPU time.

    `page` is the price of a page that becomes resident and is returned, `call` of a system call,
    and `request` the extra price of a request that no thread cache serves.
    """

    page: float
    call: float
    request: float


@cache
def prices() -> Prices:
    """Return the prices on this machine, measured in a second and kept in the user's cache."""
    path = _path()
    with suppress(OSError, ValueError, TypeError):
        kept = Prices(**json.loads(path.read_text())[_machine()])
        if min(kept.page, kept.call) > 0:
            return kept
    measured = measure()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps({_machine(): asdict(measured)}))
        unfinished.replace(path)
    return measured


def measure() -> Prices:
    """Measure the prices: the median of a few rounds."""
    area = mmap.mmap(-1, _AREA, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    pages = np.frombuffer(area, np.uint8)[::_PAGE]

    def use() -> None:
        pages[:] = 1
        area.madvise(mmap.MADV_DONTNEED)

    def call() -> None:
        for _ in range(_CALLS):
            area.madvise(mmap.MADV_DONTNEED, 0, _PAGE)

    def nothing() -> None:
        for _ in range(_CALLS):
            area.find(b"", 0, _PAGE)

    page = _seconds(use) / len(pages)
    calls = max(_seconds(call) - _seconds(nothing), 1e-8 * _CALLS)
    return Prices(page, calls / _CALLS, _request())


def _request() -> float:
    """Measure a request past the cache, by glibc's malloc with a cache and without."""
    turns = np.arange(_REQUESTS // 2)
    op = np.tile(np.array([Op.MALLOC, Op.FREE], np.uint8), len(turns))
    size = np.where(op == Op.MALLOC, np.repeat(turns % 50 * 16 + 16, 2), 0)
    trace = Trace.from_events(op, np.repeat(turns, 2), size)
    try:
        runs = replay_natively(
            trace, find_allocators("glibc,glibc:tcache_count=0"), repeats=_ROUNDS
        )
    except SimallocError:
        return 0.0
    cached, uncached = (run.nanoseconds or 0.0 for run in runs)
    return max(uncached - cached, 0.0) / 1e9


def _seconds(work: Callable[[], None]) -> float:
    """Return the CPU seconds that a piece of work takes."""
    taken = []
    for _ in range(_ROUNDS):
        start = time.thread_time()
        work()
        taken.append(time.thread_time() - start)
    return median(taken)


def _path() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(folder).expanduser() / "simalloc" / "prices.json"


def _machine() -> str:
    """Return the circumstances that the prices depend on."""
    return f"{platform.release()} {platform.machine()} {core_count()}"
