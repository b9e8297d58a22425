"""Generated traces: programs reconstructed from published statistics, and random traces."""

from simalloc.trace.workloads.catalogue import WORKLOADS, workload
from simalloc.trace.workloads.generator import Synthetic, generate
from simalloc.trace.workloads.lives import trace_of_lives
from simalloc.trace.workloads.synthetic import uniform
from simalloc.trace.workloads.training import Decoder, training_steps

__all__ = [
    "WORKLOADS",
    "Decoder",
    "Synthetic",
    "generate",
    "trace_of_lives",
    "training_steps",
    "uniform",
    "workload",
]
