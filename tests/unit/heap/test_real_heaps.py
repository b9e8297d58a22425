"""Models of allocators whose real heaps were measured: the same requests, the same peak."""

import pytest

from simalloc.heap import simulate
from simalloc.policy import policy
from simalloc.trace.catalogue import load

REAL = {
    ("espresso", "kingsley"): 735_232,
    ("espresso", "kingsley-4.4bsd"): 790_524,
    ("p2c", "kingsley"): 692_224,
    ("p2c", "kingsley-4.4bsd"): 708_604,
}
"""The peak of the real allocator's heap, in bytes, built for 32 bits and fed the trace."""


@pytest.mark.parametrize(("trace", "name"), REAL)
def test_a_model_has_the_peak_of_the_real_heap(trace, name):
    modelled = policy(name, mechanism="on", word=4)
    run = simulate(load(trace), modelled, scale=1, realloc="in-place")
    assert run.peak_heap_bytes == REAL[trace, name]
