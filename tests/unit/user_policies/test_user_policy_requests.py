"""Policies in Python that use other properties of a request than its size."""

import numpy as np
import pytest

from simalloc.errors import PolicyError
from simalloc.heap import simulate
from simalloc.policy import UserPolicy, find_policy
from simalloc.trace import Op, Trace


class ByThread(UserPolicy):
    """Policy that uses the low end of a new block for thread 0, and the high end for others."""

    def malloc(self, heap, size, *, thread, site):
        block = heap.extend(size + 1000 * site)
        return heap.split(block, size) if thread == 0 else heap.split_high(block, size)

    def free(self, heap, block):
        heap.insert(block)


class Curious(UserPolicy):
    """Policy that requests a column that no trace has."""

    def malloc(self, heap, size, *, weather):
        return heap.extend(size)

    def free(self, heap, block):
        heap.insert(block)


def made():
    columns = {"thread": np.array([0, 1, 1, 0]), "site": np.array([1, 2, 3, 1])}
    return Trace.from_events([Op.MALLOC] * 4, range(4), [10] * 4, **columns)


@pytest.mark.parametrize("engine", ["core", "reference"])
def test_a_policy_gets_what_its_malloc_names(engine):
    run = simulate(made(), ByThread, scale=1, engine=engine, addresses=True)
    assert run.addresses.tolist() == [0, 1010 + 2000, 3020 + 3000, 6030]


@pytest.mark.parametrize("engine", ["core", "reference"])
def test_resident_pages_of_a_policy_in_python(engine):
    run = simulate(made(), ByThread, scale=1, engine=engine, resident=True, occupied=(4096,))
    assert run.resident.peak_bytes == 8192
    assert run.occupied[4096].final_bytes == 8192


def test_what_it_names_is_part_of_what_its_results_depend_on():
    assert find_policy(ByThread).description.read_columns == ("thread", "site")


def test_what_no_trace_has_is_refused():
    with pytest.raises(
        PolicyError, match=r"Curious\.malloc has an unknown keyword-only parameter, weather"
    ):
        simulate(made(), Curious)
