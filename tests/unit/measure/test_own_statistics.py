"""Waste according to the malloc's own statistics."""

import pytest

from simalloc.heap import simulate
from simalloc.measure.waste import waste
from simalloc.trace import Op, Trace

THOUSAND = Trace.from_events([Op.MALLOC] * 1000, range(1000), [100] * 1000)
MIXED = Trace.from_events(
    [Op.MALLOC] * 3000 + [Op.FREE] * 2000,
    [*range(3000), *(each for each in range(3000) if each % 3)],
    [16 + 37 * each % 40_000 for each in range(3000)] + [0] * 2000,
)

PRINTED = {
    "Bytes in use by application": 185752,
    "Bytes in page heap freelist": 843776,
    "Bytes in central cache freelist": 17592,
    "Bytes in transfer cache freelist": 0,
    "Bytes in thread cache freelists": 1456,
    "Bytes in malloc metadata": 2490368,
    "Actual memory used (physical + swap)": 3538944,
    "Bytes released to OS (aka unmapped)": 0,
    "Virtual address space used": 3538944,
}
"""Output of gperftools 2.10's malloc_stats in a process with a thousand mallocs of 100 bytes."""


def words(trace, policy):
    last = len(trace) - 1
    return waste(trace, simulate(trace, policy, scale=1, realloc="in-place"), last).own_statistics


def test_tcmallocs_lines_are_those_that_it_prints():
    found = words(THOUSAND, "tcmalloc:version=2.10")
    assert PRINTED.items() <= found.items()
    assert found["live"] + found["rounding to classes"] == 1000 * 112


@pytest.mark.parametrize("options", ["", ",dirty_decay_ms=-1", ",dirty_decay_ms=0,tcache=off"])
def test_jemallocs_parts_add_up_to_what_it_has_mapped(options):
    found = words(MIXED, f"jemalloc:version=5.3.0{options}")
    parts = (
        *("live", "rounding to classes", "ends of slabs, padding", "thread caches"),
        *("free in slabs", "dirty", "muzzy", "metadata", "metadata not used yet"),
    )
    assert sum(found[part] for part in parts) == found["mapped"]
    assert all(found[part] >= 0 for part in parts)
    assert (found["dirty"] > 0) == ("=0" not in options)
    used = found["live"] + found["rounding to classes"] + found["thread caches"]
    assert used <= found["allocated"] <= found["active"]


def test_mimallocs_parts_add_up_to_what_it_has_reserved():
    found = words(MIXED, "mimalloc:version=2.0.9")
    reserved, committed, *parts = found.values()
    assert sum(parts) == reserved >= committed


def test_a_policy_without_mechanism_has_no_words():
    assert words(THOUSAND, "jemalloc:mechanism=off") == words(THOUSAND, "best-fit-ao") == {}
