"""A segregated fit of one class is a sequential fit: two independent references agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simalloc.heap import Realloc
from simalloc.heap.reference import replay
from simalloc.policy import Fit, Order
from simalloc.policy.families.segregated_fit import ListFit, SegregatedFit
from simalloc.policy.families.sequential_fit import SequentialFit
from simalloc.policy.parts import Coalescing
from traces import traces


@pytest.mark.parametrize("fit", ListFit)
@given(trace=traces(), realloc=st.sampled_from(Realloc))
def test_one_list_with_coalescing_is_a_sequential_fit(fit, trace, realloc):
    """With scale 16, all blocks are large enough for their links."""
    description = SegregatedFit(fit, coalescing=Coalescing.ALL, growth=4096, count_tail=True)
    one = replay(trace, description, realloc=realloc)
    other = replay(trace, SequentialFit(Fit(fit.value), Order.LIFO), realloc=realloc)
    assert (one.addresses == other.addresses).all()
    assert (one.visited == other.visited).all()
    assert (one.heap == other.heap).all()
    assert one.splits == other.splits
    assert one.coalescings == other.coalescings
