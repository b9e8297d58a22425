"""Static planners of compilers and runtimes, which know the lifetime of every buffer."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from simalloc.policy.families.offline import Offline


class PlannerRule(Enum):
    """Planner whose rule is applied; `simalloc.bound.planners` implements it."""

    TFLITE_MICRO = "tflite-micro"
    TFLITE_GPU_SIZE = "tflite-gpu-size"
    TFLITE_GPU_BREADTH = "tflite-gpu-breadth"
    XLA_SPATIAL = "xla-spatial"
    XLA_TEMPORAL = "xla-temporal"
    IREE = "iree"
    MLIR_MERGE_ALLOC = "mlir-merge-alloc"
    EXECUTORCH = "executorch"
    GGML = "ggml"


@dataclass(frozen=True)
class Planner(Offline):
    """Places all buffers of a trace at once, by the published rule of a planner."""

    family: ClassVar[str] = "planner"
    in_all: ClassVar[bool] = False

    rule: Annotated[PlannerRule, "Planner whose rule applies."]
