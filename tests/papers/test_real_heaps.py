"""Models with their mechanism on against the heaps that the real allocators took.

`traces/real_heaps.csv` has what the real code took of the system on a private, contiguous break. A
model is right when it is within 1 percent of that at the peak, and within 2 percent at the end.
"""

import csv
from pathlib import Path

import pytest

from simalloc import read_trace
from simalloc.heap import simulate
from simalloc.policy import policy

TABLE = Path(__file__).parents[2] / "traces" / "real_heaps.csv"
REAL = {
    (row["allocator"], row["trace"]): row for row in csv.DictReader(TABLE.read_text().splitlines())
}

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
    "glibc": "ptmalloc",
    "tlsf": "tlsf",
    "kbsd42": "kingsley",
    "kbsd44": "kingsley-4.4bsd",
    "cart": "sunos-cartesian",
    "cartsp": "sunos-cartesian:machine=sparc",
}
"""Which policy models which of the real allocators."""


@pytest.mark.parametrize(("allocator", "trace"), REAL)
def test_a_model_takes_the_heap_of_the_real_allocator(allocator, trace):
    real = REAL[allocator, trace]
    name = MODELS.get(allocator)
    if name is None:
        pytest.skip(f"{allocator} has no model here")
    model = policy(name, mechanism="on", word=int(real["bits"]) // 8)
    run = simulate(read_trace(trace), model, scale=1, realloc="in-place")
    assert run.peak_heap_bytes == pytest.approx(int(real["peak_heap"]), rel=0.01)
    assert run.final_heap_bytes == pytest.approx(int(real["final_heap"]), rel=0.02)
    assert run.max_live_bytes == int(real["max_live"])
