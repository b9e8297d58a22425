"""The same trace through real allocators, each in a process of its own."""

from simalloc.heap.real.allocators import (
    GLIBC,
    MODELS,
    NAMES,
    Allocator,
    find_allocator,
    installed,
)
from simalloc.heap.real.measure import REPEATS, NativeRun, passes, replay_natively
from simalloc.heap.real.process import (
    Columns,
    NativeProcess,
    PassTime,
    PeakMemory,
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
    "Columns",
    "NativeProcess",
    "NativeRun",
    "PassTime",
    "PeakMemory",
    "columns_of",
    "find_allocator",
    "installed",
    "native_process",
    "passes",
    "replay_command",
    "replay_natively",
]
