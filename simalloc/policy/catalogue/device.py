"""Caching allocators of deep-learning frameworks (docs/device-memory.md)."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.device import Bfc, NoCache, OrtArena, PyTorch, RmmPool

GROUP: Final = "device"
TITLE: Final = "caching allocators of deep-learning frameworks"

_ADDRESSES: Final = "Segments begin at ascending multiples of 2 MiB, and no address is used twice."
_PYTORCH: Final = "PyTorch 2.15, c10/cuda/CUDACachingAllocator.cpp and c10/core/AllocatorConfig.cpp"
_EVENTS: Final = " If another stream still uses a freed block, this use ends at the next request."

POLICIES: Final = (
    Policy("pytorch", PyTorch(), source=_PYTORCH, reading=_ADDRESSES + _EVENTS),
    Policy(
        "pytorch-expandable",
        PyTorch(expandable_segments=True),
        source=_PYTORCH,
        reading=_EVENTS.strip(),
    ),
    Policy(
        "bfc",
        Bfc(),
        source="TensorFlow 2.21, tsl/framework/bfc_allocator.cc",
        reading=f"{_ADDRESSES} The rules are TensorFlow's rules with memory growth enabled.",
    ),
    Policy(
        "ort-arena",
        OrtArena(),
        source="ONNX Runtime 1.32, onnxruntime/core/framework/bfc_arena.cc",
        reading=(
            f"{_ADDRESSES} Streams are not distinguished, because traces do not record which "
            "stream waits for which. An event `e` shrinks the arena."
        ),
    ),
    Policy(
        "rmm-pool",
        RmmPool(),
        source="RAPIDS Memory Manager, rmm/mr/pool_memory_resource",
        reading=f"{_ADDRESSES} A block is freed by the stream that allocated it.",
    ),
    Policy(
        "no-cache",
        NoCache(),
        source="cudaMalloc and cudaFree for each object",
        reading="Sizes are rounded up to 2 MiB, as on devices with large pages.",
    ),
)
