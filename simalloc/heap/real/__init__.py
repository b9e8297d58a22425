"""The same trace through real allocators, each in a process of its own."""

from simalloc.heap.real.allocators import (
    GLIBC,
    MODELS,
    NAMES,
    Allocator,
    find_allocator,
    find_allocators,
    installed,
)
from simalloc.heap.real.measure import REPEATS, AtStart, NativeRun, passes, replay_natively
from simalloc.heap.real.process import (
    Columns,
    Memory,
    NativeProcess,
    PassTime,
    columns_of,
    native_process,
    replay_command,
)

__all__ = [
    "GLIBC",
    "MODELS",
    "NAMES",
    "REPEATS",
    "Allocator",
    "AtStart",
    "Columns",
    "Memory",
    "NativeProcess",
    "NativeRun",
    "PassTime",
    "columns_of",
    "find_allocator",
    "find_allocators",
    "installed",
    "native_process",
    "passes",
    "replay_command",
    "replay_natively",
]
