"""Static planners of compilers and runtimes."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.families.planner import Planner, PlannerRule

GROUP: Final = "planner"
TITLE: Final = "static planners of compilers and runtimes"

_SOURCES: Final = {
    PlannerRule.TFLITE_MICRO: "GreedyMemoryPlanner of TensorFlow Lite for Microcontrollers",
    PlannerRule.TFLITE_GPU_SIZE: "Pisarchyk & Lee 2020, 'Efficient memory management for deep "
    "neural net inference', greedy by size for offset calculation",
    PlannerRule.TFLITE_GPU_BREADTH: "Pisarchyk & Lee 2020, 'Efficient memory management for deep "
    "neural net inference', greedy by breadth for offset calculation",
    PlannerRule.XLA_SPATIAL: "GlobalDecreasingSizeBestFitHeap of OpenXLA, spatial order",
    PlannerRule.XLA_TEMPORAL: "GlobalDecreasingSizeBestFitHeap of OpenXLA, temporal order",
    PlannerRule.IREE: "the LayoutSlices pass of IREE, a compiler on MLIR",
    PlannerRule.MLIR_MERGE_ALLOC: "'Compile-time memref.alloc scheduling and merging', document "
    "MemrefMergeAlloc.md of MLIR",
    PlannerRule.EXECUTORCH: "the greedy algorithm of ExecuTorch's memory planning, release 0.6",
    PlannerRule.GGML: "ggml-alloc of ggml, dynamic tensor allocator",
}

_READINGS: Final = {
    PlannerRule.MLIR_MERGE_ALLOC: "The option size-first is set. If every free chunk is too small, "
    "the largest one is extended. ",
    PlannerRule.TFLITE_GPU_BREADTH: "Each event of the trace is an operator. ",
}

POLICIES: Final = tuple(
    Policy(
        rule.value,
        Planner(rule),
        source=_SOURCES[rule],
        reading=_READINGS.get(rule, "")
        + "Sizes are not rounded, unless a parameter such as alignment=64 is set. A realloc "
        "frees the old block before it allocates.",
    )
    for rule in PlannerRule
)
