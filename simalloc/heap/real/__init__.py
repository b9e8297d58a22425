"""Replay of a trace through real allocators, each in a separate process."""

from simalloc.heap.real.allocators import (
    GLIBC,
    MODELS,
    Allocator,
    find_allocator,
    find_allocators,
    installed,
)
from simalloc.heap.real.measure import REPEATS, AtStart, NativeRun, passes, replay_natively
from simalloc.heap.real.process import columns_of, native_process, replay_command

__all__ = [
    "GLIBC",
    "MODELS",
    "REPEATS",
    "Allocator",
    "AtStart",
    "NativeRun",
    "columns_of",
    "find_allocator",
    "find_allocators",
    "installed",
    "native_process",
    "passes",
    "replay_command",
    "replay_natively",
]
