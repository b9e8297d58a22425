"""Prices of page faults, system calls and requests on this machine, measured once and cached."""

from __future__ import annotations

import json
import mmap
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.heap.real import find_allocators, replay_natively
from simalloc.machine import core_count
from simalloc.trace import Op, Trace

_PAGE: Final = mmap.PAGESIZE
_AREA: Final = 16 << 20
_ROUNDS: Final = 5
_MAPPINGS: Final = 1000
_MAPPED: Final = 128 << 10
_REQUESTS: Final = 100_000


@dataclass(frozen=True)
class Prices:
    """Prices in seconds of CPU time.

    `page` is the price of a page that becomes resident and is returned. `mapping` is the price of a
    system call that maps or unmaps memory, and an upper limit for calls that only return pages.
    `request` is the additional price of a request that no thread cache serves.
    """

    page: float
    mapping: float
    request: float


@cache
def prices() -> Prices:
    """Return the prices on this machine, measured within seconds and kept in the user's cache."""
    path = _path()
    with suppress(OSError, LookupError, ValueError, TypeError, RecursionError):
        kept = Prices(**json.loads(path.read_text())[_machine()])
        if min(kept.page, kept.mapping) > 0:
            return kept
    measured = measure()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps({_machine(): asdict(measured)}))
        unfinished.replace(path)
    return measured


def measure() -> Prices:
    """Measure the prices as the median of a few rounds.

    Meanwhile another thread causes page faults, because threads of a process share the lock of its
    memory map and flush each other's TLBs.
    """
    area, pages = _area()

    def use() -> None:
        pages[:] = 1
        area.madvise(mmap.MADV_DONTNEED)

    def map_and_unmap() -> None:
        for _ in range(_MAPPINGS):
            mmap.mmap(-1, _MAPPED, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()

    with _faults_meanwhile():
        page = _seconds(use) / len(pages)
        mapping = _seconds(map_and_unmap) / (2 * _MAPPINGS)
    return Prices(page, mapping, _request())


def _area() -> tuple[mmap.mmap, NDArray[np.uint8]]:
    """Return memory without huge pages, and the first byte of each of its pages."""
    area = mmap.mmap(-1, _AREA, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    return area, np.frombuffer(area, np.uint8)[::_PAGE]


@contextmanager
def _faults_meanwhile() -> Iterator[None]:
    """Cause page faults in another thread."""
    is_over = Event()

    def take() -> None:
        area, pages = _area()
        while not is_over.is_set():
            pages[:] = 1
            area.madvise(mmap.MADV_DONTNEED)

    other = Thread(target=take, daemon=True)
    other.start()
    try:
        yield
    finally:
        is_over.set()
        other.join()


def _request() -> float:
    """Return the additional seconds of a glibc request without the thread cache."""
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
    """Return the CPU seconds of a piece of work, the median of `_ROUNDS` rounds."""
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
    """Return the properties of the machine that the prices depend on, as a key of the cache."""
    return f"{platform.release()} {platform.machine()} {core_count()}"
