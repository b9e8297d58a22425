"""Models with their mechanism compared with the heaps of the real allocators.

`traces/real_heaps.csv` contains the memory that the real code requested from the system on a
private, contiguous break. A model passes if it is within 1 percent of this figure at the peak and
within 2 percent at the end.

`heaps_of_real_code.csv` was measured for these tests in the same way, on all historic traces and,
for three of the allocators, on some of today's. The real code, as a 32-bit or a 64-bit program,
replays a trace on its own break, which begins on a page boundary. Here a model must be equal to the
byte. docs/real-allocators.md names the code.
"""

import csv
from pathlib import Path

import numpy as np
import pytest

from simalloc import Trace, read_trace
from simalloc.heap import simulate
from simalloc.policy import find_policy
from simalloc.trace import Op

SHIPPED = Path(__file__).parents[2] / "traces" / "real_heaps.csv"
MEASURED = Path(__file__).with_name("heaps_of_real_code.csv")


def rows(table):
    """Read a table of heaps; return its rows by allocator, bits and trace."""
    lines = csv.DictReader(table.read_text().splitlines())
    return {(row["allocator"], row["bits"], row["trace"]): row for row in lines}


REAL = rows(SHIPPED)
EQUAL = rows(MEASURED)

MODELS = {
    "phk": "phk",
    "solspl": "solaris-default",
    "sol3x": "solaris-3x",
    "gnu95": "gnu-1995",
    "gnu93": "gnu-1993",
    "lea266": "lea-2.6.6",
    "lea286": "dlmalloc-2.8.6",
    "gxx25": "g++-2.5",
    "csri": "csri-1.18",
    "gc26": "bw-gc-2.6",
    "vmalloc": "vmalloc",
    "glibc": "ptmalloc:version=2.36",
    "tlsf": "tlsf",
    "kbsd42": "kingsley",
    "kbsd44": "kingsley-4.4bsd",
    "cart": "sunos-cartesian",
    "cartsp": "sunos-cartesian:machine=sparc",
}
"""Policy that models each of the real allocators."""


def replay(trace, allocator, bits):
    """Replay a trace under the model of an allocator, with the real allocator's requests."""
    model = find_policy(MODELS[allocator], mechanism="on", word=int(bits) // 8)
    return simulate(trace, model, scale=1, realloc="in-place")


@pytest.mark.parametrize(("allocator", "bits", "trace"), REAL)
def test_a_model_takes_the_heap_of_the_real_allocator(allocator, bits, trace):
    real = REAL[allocator, bits, trace]
    if allocator not in MODELS:
        pytest.skip(f"{allocator} has no model here")
    run = replay(read_trace(trace), allocator, bits)
    assert run.peak_heap_bytes == pytest.approx(int(real["peak_heap"]), rel=0.01)
    assert run.final_heap_bytes == pytest.approx(int(real["final_heap"]), rel=0.02)
    assert run.max_live_bytes == int(real["max_live"])


def with_null_for_nothing(trace):
    """Return the events that remain if malloc(0) returns null; realloc of null is a malloc."""
    asks_nothing = (trace.op == Op.MALLOC) & (trace.size == 0)
    null = np.isin(trace.object, trace.object[asks_nothing])
    moves = np.flatnonzero(null & (trace.op == Op.REALLOC))
    made, first = np.unique(trace.object[moves], return_index=True)
    op = trace.op.copy()
    op[moves[first]] = Op.MALLOC
    left = ~asks_nothing & (~null | np.isin(trace.object, made))
    return Trace.from_events(op[left], trace.object[left], trace.size[left])


def test_tlsf_takes_the_heap_of_the_shipped_table_where_nothing_is_null():
    run = replay(with_null_for_nothing(read_trace("espresso")), "tlsf", "64")
    real = REAL["tlsf", "64", "espresso"]
    assert run.peak_heap_bytes == run.final_heap_bytes == int(real["peak_heap"])
    assert run.live_bytes_at_peak_heap == int(real["live_at_peak"])


@pytest.mark.parametrize("name", dict.fromkeys(trace for _, _, trace in EQUAL))
def test_models_take_the_heaps_of_the_real_code_to_the_byte(name):
    trace = read_trace(name)
    real = {(code, bits): row for (code, bits, on), row in EQUAL.items() if on == name}
    runs = {(code, bits): replay(trace, code, bits) for code, bits in real}
    assert {
        build: (
            run.peak_heap_bytes,
            run.live_bytes_at_peak_heap,
            run.max_live_bytes,
            run.final_heap_bytes,
        )
        for build, run in runs.items()
    } == {
        build: tuple(int(row[of]) for of in ("peak_heap", "live_at_peak", "max_live", "final_heap"))
        for build, row in real.items()
    }
