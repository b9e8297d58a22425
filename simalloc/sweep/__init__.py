"""Sweeps: many traces under many policies, on any number of machines, without lost results."""

from simalloc.sweep.api import run_sweep
from simalloc.sweep.compare import compare
from simalloc.sweep.merge import merge
from simalloc.sweep.observer import Observer
from simalloc.sweep.plan import Plan
from simalloc.sweep.planfile import read_plan
from simalloc.sweep.results import Results
from simalloc.sweep.sweep import Summary, carry_out_plan

__all__ = [
    "Observer",
    "Plan",
    "Results",
    "Summary",
    "carry_out_plan",
    "compare",
    "merge",
    "read_plan",
    "run_sweep",
]
