"""Speed of policies in Python, and its limits.

`python -m benchmarks.user_policy` replays Espresso under the examples of docs/examples/policies.py.
It then divides first fit's time into three parts: an event with a minimum of Python, calls of the
heap's methods, and the remaining time, which is the work of these methods and of first fit.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median
from typing import Final

import click
import numpy as np

from benchmarks.command import say, table_option
from simalloc.heap import Realloc
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay, strides
from simalloc.policy import Block, Heap, Policy, UserPolicy, find_policy, spell
from simalloc.report import Format, Rounded, Table, write_table
from simalloc.trace import Op, Trace
from simalloc.trace.catalogue import load

EXAMPLES: Final = Path(__file__).parents[1] / "docs" / "examples" / "policies.py"
NAMES: Final = (
    "FirstFit",
    "BestFit:order=lifo",
    "NextFit",
    "WorstFit",
    "MinimumSplit",
    "BetterFit",
    "HalfFit",
    "QuickLists",
    "ByLifetime",
)
MORE_CALLS: Final = 4


class Stack(UserPolicy):
    """The minimal policy for a trace whose objects all have the same size."""

    def begin(self, trace: object) -> None:  # noqa: ARG002 - the base class's signature
        """Make the stack."""
        self.stack: list[Block] = []

    def malloc(self, heap: Heap, size: int) -> Block | None:
        """Take the block freed last."""
        return self.stack.pop() if self.stack else heap.extend(size)

    def free(self, heap: Heap, block: Block) -> None:  # noqa: ARG002 - the base class's signature
        """Keep the block."""
        self.stack.append(block)


class StackAndCalls(Stack):
    """A `Stack` that also calls a method of the heap that does almost nothing, four times."""

    def malloc(self, heap: Heap, size: int) -> Block | None:
        """Take the block freed last."""
        heap.visit(0)
        heap.visit(0)
        heap.visit(0)
        heap.visit(0)
        return self.stack.pop() if self.stack else heap.extend(size)

    def free(self, heap: Heap, block: Block) -> None:
        """Keep the block."""
        heap.visit(0)
        heap.visit(0)
        heap.visit(0)
        heap.visit(0)
        self.stack.append(block)


def nanoseconds(trace: Trace, policy: Policy, rounds: int) -> float:
    """Return the median processor time per event over the rounds, measures included."""
    times = []
    for _ in range(rounds):
        simulation = Setting.of(trace, policy, scale=16, realloc=Realloc.FREE_FIRST).simulation()
        started = time.process_time()
        for stride in strides(trace, (), policy):
            replay(simulation, stride)
        times.append(time.process_time() - started)
        say(spell(policy))
    return 1e9 * median(times) / len(trace)


def speeds(trace: Trace, rounds: int) -> Table:
    """Return the times of the example policies, with a row per policy."""
    rows = []
    for name in NAMES:
        own = nanoseconds(trace, find_policy(f"{EXAMPLES}:{name}"), rounds)
        rows.append((name, Rounded(own, 0), Rounded(1e3 / own, 2)))
    return Table(f"Policies in Python on {trace.name}", ("policy", "ns/event", "M events/s"), rows)


def parts(trace: Trace, rounds: int) -> Table:
    """Return the parts of first fit's time."""
    one_size = Trace.from_events(
        trace.op, trace.object, np.where(trace.op == Op.FREE, 0, 16), name=trace.name
    )
    in_c = nanoseconds(trace, find_policy("first-fit-ao"), rounds)
    least = nanoseconds(one_size, find_policy(Stack), rounds)
    calls = nanoseconds(one_size, find_policy(StackAndCalls), rounds)
    whole = nanoseconds(trace, find_policy(f"{EXAMPLES}:FirstFit"), rounds)
    call = (calls - least) / MORE_CALLS
    rows = [
        ("a call of malloc or free with a list's pop or append", least),
        ("the call overhead of two of the heap's methods", 2 * call),
        ("the work of these methods, and the other bytecode", whole - least - 2 * call),
        ("first fit in Python", whole),
        ("first fit in C, for comparison", in_c),
    ]
    return Table(
        f"Parts of the time of first fit on {trace.name}",
        ("part", "ns/event"),
        [(part, Rounded(value, 0)) for part, value in rows],
    )


@click.command()
@click.option("--trace", "name", default="espresso", show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@table_option
def command(name: str, rounds: int, table_format: Format) -> None:
    """Measure policies in Python."""
    trace = load(name)
    for table in (speeds(trace, rounds), parts(trace, rounds)):
        write_table(table, table_format, sys.stdout)


if __name__ == "__main__":
    command()
