"""A thread's number, such as the system's thread id, affects neither results nor memory."""

import numpy as np
import pytest
from peak import peak_kib

from simalloc.heap import simulate
from simalloc.policy import CATALOGUE
from simalloc.trace import Trace

THREADED = sorted(
    name
    for name, row in CATALOGUE.items()
    if "thread" in row.description.read_columns and row.description.runner == "online"
)
IDS = [0, 70_001, 4_000_000_000, 4_294_967_295]


def trace_of(numbers):
    count = 120
    op = [0] * count + [1] * count
    thread = [numbers[place * 7 % len(numbers)] for place in range(2 * count)]
    size = [[16, 200, 5000][place % 3] for place in range(count)] + [0] * count
    return Trace.from_events(
        op, [*range(count), *range(count)], size, thread=np.array(thread, np.uint32)
    )


@pytest.mark.parametrize("engine", ["core", "reference"])
@pytest.mark.parametrize("name", THREADED)
def test_thread_ids_are_as_good_as_small_numbers(name, engine):
    few, large = (
        simulate(trace_of(numbers), name, engine=engine, addresses=True, resident=True)
        for numbers in ([0, 1, 2, 3], IDS)
    )
    np.testing.assert_array_equal(few.addresses, large.addresses)
    assert (few.mapped, few.resident, few.counters) == (
        large.mapped,
        large.resident,
        large.counters,
    )


MEASURED = """
import sys
from simalloc import Trace, simulate, waste
trace = Trace.from_events([0, 1], [0, 0], [8, 0], thread=[100_000_000] * 2)
for name in sys.argv[1:]:
    simulate(trace, name)
    waste(trace, name)
"""


def test_the_memory_of_a_run_does_not_depend_on_thread_numbers():
    assert peak_kib(MEASURED, "ptmalloc", "jemalloc") < 250 << 10
