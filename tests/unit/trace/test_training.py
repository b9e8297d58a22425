"""The generated training steps: the memory that they keep, and equal first and final states."""

import numpy as np

from simalloc.trace import Op
from simalloc.trace.statistics import describe
from simalloc.trace.workloads import Decoder, training_steps

SMALL = Decoder(layers=2, hidden=8, vocabulary=10)


def test_weights_and_what_trains_them_stay_and_the_rest_goes():
    trace = training_steps([4, 6], batch=3, decoder=SMALL)
    left = describe(trace).never_freed
    elements = sum(SMALL.weights)
    assert elements == 80 + 2 * (3 * 256 + 16)
    assert left.bytes == elements * (2 + 2 + 4 + 4)
    assert trace.provenance == {"workload": "training steps", "lengths": [4, 6], "batch": 3}


def test_a_step_of_another_length_asks_for_other_sizes_in_the_same_order():
    one, two = (training_steps([length], decoder=SMALL) for length in (5, 10))
    assert np.array_equal(one.op, two.op)
    assert np.array_equal(one.object, two.object)
    asks = one.op == Op.MALLOC
    assert set((two.size[asks] // one.size[asks]).tolist()) == {1, 2}
