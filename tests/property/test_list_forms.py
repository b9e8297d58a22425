"""The core stores free blocks in several data structures, which all give the same results.

The list of a first or next fit has most of these forms. Bins by address are heaps that are linked
or in arrays.
"""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from test_engines_agree import assert_same, cores, many_free_blocks, outcome

from simalloc.heap import simulate
from simalloc.heap.run_options import Realloc
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay, run_of
from simalloc.policy import GROUPS, find_policy
from simalloc.trace import Op, Trace
from traces import cases

LISTS = [name for name in GROUPS["johnstone-wilson"] if name.startswith(("first-fit", "next-fit"))]
BINS_BY_ADDRESS = ["best-fit-ao", "worst-fit-ao", "double-buddy", "binary-buddy:order=ao"]

CODES = {False: "core", True: "core-portable"}
"""Engines in C; the key is true for the engine without vector code."""


def codes(name):
    """Return, for each engine of a policy, whether it is the portable one."""
    return [core == "core-portable" for core in cores(find_policy(name))]


def in_changing_forms(trace, name, between, *, portable, **options):
    """Return the run with a change of form before each group of `between` events."""
    asked = {"scale": 16, "realloc": Realloc.FREE_FIRST} | options
    setting = Setting.of(trace, name, engine=CODES[portable], **asked)
    (events,) = trace.replayed_parts(setting.columns) if len(trace) else (trace.replayed,)
    simulation = setting.simulation()
    placed = np.empty(len(trace), np.int64)
    for start in range(0, len(trace), between):
        assert simulation.change_form()
        assert simulation.check() is None
        replay(simulation, events.part(start, start + between), placed[start : start + between])
        assert simulation.check() is None
    return run_of(simulation, setting, addresses=placed)


@pytest.mark.parametrize("name", [*LISTS, *BINS_BY_ADDRESS])
@given(data=st.data(), between=st.integers(1, 40))
def test_on_drawn_traces(name, data, between):
    case = data.draw(cases(find_policy(name)))
    options = {"scale": case.scale, "realloc": case.realloc}
    expected = outcome("reference", case.trace, case.policy, **options)
    if isinstance(expected, str):
        return
    for portable in codes(name):
        note(f"{portable = }")
        run = in_changing_forms(case.trace, case.policy, between, portable=portable, **options)
        assert_same(run, expected)


@pytest.mark.parametrize("name", [*LISTS, *BINS_BY_ADDRESS])
def test_with_many_free_blocks(name):
    trace = many_free_blocks(seed=2)
    expected = outcome("reference", trace, name)
    for portable in codes(name):
        for between in (37, 500, 2800):
            assert_same(in_changing_forms(trace, name, between, portable=portable), expected)


def short_searches(trace, turns):
    """Append small objects that die at once, for which first and next fit search few blocks."""
    number = np.repeat(np.arange(turns) + trace.objects, 2)
    size = np.tile([1, 0], turns)
    op = np.tile([Op.MALLOC, Op.FREE], turns).astype(np.uint8)
    columns = [(trace.op, op), (trace.object, number), (trace.size, size)]
    return Trace.from_events(*(np.concatenate(column) for column in columns))


@pytest.mark.parametrize("name", LISTS)
def test_when_searches_become_long_and_short(name):
    """For long searches the core makes a tree of the list, for short searches it does not."""
    trace = short_searches(many_free_blocks(seed=3), 4000)
    expected = outcome("reference", trace, name)
    for core in cores(find_policy(name)):
        assert_same(outcome(core, trace, name), expected)


def swelling(seed, most, *, times=40):
    """Alternate between many and few free blocks; the larger blocks are allocated again."""
    random = np.random.default_rng(seed)
    op, number, size = [], [], []
    objects = 0
    for count in random.integers(2, most, times):
        born = range(objects, objects + 2 * count)
        objects += len(born)
        op += [Op.MALLOC] * len(born)
        number += born
        size += random.integers(1, 100, len(born)).tolist()
        gone = [*random.permutation(born[::2]), *random.permutation(born[1::2])]
        for i, dead in enumerate(gone):
            op += [Op.FREE, Op.MALLOC, Op.FREE]
            number += [dead, objects + i, objects + i]
            size += [0, int(random.integers(50, 110)), 0]
        objects += len(gone)
    return Trace.from_events(op, number, size)


@pytest.mark.parametrize(("most", "times"), [(40, 40), (400, 4)])
@pytest.mark.parametrize("name", LISTS)
def test_when_the_list_becomes_long_and_short(name, most, times):
    """The list becomes short enough to be flat, too long for that, and longer within a batch."""
    trace = swelling(most, most, times=times)
    expected = outcome("reference", trace, name)
    for core in cores(find_policy(name)):
        assert_same(outcome(core, trace, name), expected)
        simulate(trace.prefix(1000), name, engine=core, checked=True)


@pytest.mark.parametrize("huge", [1 << 21, 1 << 31, 1 << 40])
@pytest.mark.parametrize("name", LISTS)
def test_when_sizes_and_addresses_become_large(name, huge):
    """Sizes become large in the middle of a batch; the list keeps its form for a whole batch."""
    before, after = swelling(5, 9).prefix(4 * 256 + 20), swelling(6, 12)
    large = before.objects
    op = [*before.op, Op.MALLOC, Op.MALLOC, Op.FREE, Op.MALLOC, *after.op]
    number = [*before.object, large, large + 1, large, large + 2, *(after.object + large + 3)]
    size = [*before.size, huge, huge, 0, huge // 2, *after.size]
    trace = Trace.from_events(op, number, size)
    expected = outcome("reference", trace, name)
    for core in cores(find_policy(name)):
        assert_same(outcome(core, trace, name), expected)
    assert_same(in_changing_forms(trace, name, 300, portable=False), expected)


def placed_by(simulation, events):
    """Replay events and return the addresses and the numbers of visited blocks."""
    placed = np.empty(len(events.op), np.int64)
    replay(simulation, events, placed)
    assert simulation.check() is None
    return placed, simulation.figures()["visited"]


LONG = ["first-fit-lifo", "first-fit-fifo"]
"""Lists that have a separate form for long lists."""


def assert_long_forms_agree(name, trace, portable, every=5000):
    """Replay a trace in the core's chosen form, in its first form, and in the long form.

    The first form is a tree, or arrays. Only some lists have a long form.
    """
    events = trace.replayed
    setting = Setting.of(trace, name, scale=16, realloc=Realloc.FREE_FIRST, engine=CODES[portable])
    own, first, long = (setting.simulation() for _ in range(3))
    first.change_form()
    for _ in range(3 if name == "first-fit-fifo" else 2):  # only this list may be flat
        long.change_form()
    for start in range(0, len(trace), every):
        part = events.part(start, start + every)
        expected, visited = placed_by(first, part)
        for simulation in (own, long):
            placed = placed_by(simulation, part)
            np.testing.assert_array_equal(placed[0], expected)
            assert placed[1] == visited
    return own


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("unit", [1, 1000])
def test_when_a_list_outgrows_its_form_for_long_ones(name, unit, portable):
    """The list grows to 17,000 free blocks and shrinks to few again."""
    random = np.random.default_rng(8)
    op, number, size, objects = [], [], [], 0
    for count in (34_000, 400, 34_000):
        born = np.arange(objects, objects + count)
        gone = [*random.permutation(born[::2]), *random.permutation(born[1::2])]
        op += [Op.MALLOC] * count + [Op.FREE] * count
        number += [*born, *gone]
        size += [*(unit * random.integers(1, 100, count)), *[0] * count]
        objects += count
    assert_long_forms_agree(name, Trace.from_events(op, number, size), portable)


@cache
def many_twice():
    """Make more than 2^18 free blocks, then few, then many again."""
    random = np.random.default_rng(10)
    op, number, size, objects = [], [], [], 0
    for count in (620_000, 400, 100_000):
        born = np.arange(objects, objects + count)
        op.append(np.repeat([Op.MALLOC, Op.FREE], count))
        number += [born, random.permutation(born[::2]), random.permutation(born[1::2])]
        size += [random.integers(1, 100, count), np.zeros(count, int)]
        objects += count
    return Trace.from_events(*(np.concatenate(parts) for parts in (op, number, size)))


@pytest.mark.parametrize(("name", "portable"), [("best-fit-ao", True), ("double-buddy", False)])
def test_when_bins_come_to_hold_many_blocks(name, portable):
    """The bins become arrays, some of them become full, and few blocks remain."""
    own = assert_long_forms_agree(name, many_twice(), portable, every=250_000)
    assert own.figures()["peak_free_blocks"] > 1 << 18


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("name", LONG)
def test_when_blocks_enter_far_from_all_others(name, portable):
    """Free blocks are at the low end, and the turnover is thousands of neighbours away."""
    random = np.random.default_rng(9)
    born = np.arange(12_000)
    op = [*[Op.MALLOC] * 12_000, *[Op.FREE] * 500]
    number = [*born, *born[:1000:2]]
    size = [*random.integers(40, 90, 12_000), *[0] * 500]
    high = list(born[-1000:])
    for i, gone in enumerate(random.integers(0, len(high), 10_000)):
        op += [Op.FREE, Op.MALLOC]
        number += [high[gone], len(born) + i]
        size += [0, int(random.integers(90, 140))]
        high[gone] = len(born) + i
    assert_long_forms_agree(name, Trace.from_events(op, number, size), portable)


class Repeated:
    """A trace that is replayed several times, with the total number of events."""

    provenance: dict = {}  # noqa: RUF012 - the origin is unknown

    def __init__(self, trace, times):
        self._events = times * len(trace)
        self.name = trace.name
        self.slots = trace.slots

    def __len__(self):
        return self._events


@pytest.mark.parametrize("portable", [False, True])
def test_when_very_many_blocks_have_entered(portable):
    """A flat list numbers blocks in order of entry, and has two million numbers.

    After each turn the heap is a single free block, so that all turns are equal.
    """
    random = np.random.default_rng(7)
    op = np.repeat(np.array([Op.MALLOC, Op.FREE, Op.MALLOC, Op.FREE], np.uint8), [99, 33, 33, 99])
    first = random.permutation(99)
    slot = np.concatenate([np.arange(99), first[:33], first[:33], random.permutation(99)])
    size = np.where(op == Op.MALLOC, random.integers(1, 200, len(op)), 0)
    turns = 500
    trace = Trace.from_events(*(np.tile(column, turns) for column in (op, slot, size)))
    repeats = 1 + (1 << 21) // (turns * np.count_nonzero(op == Op.FREE))
    again = Repeated(trace, 1 + repeats)
    setting = Setting.of(
        again, "first-fit-fifo", scale=16, realloc=Realloc.FREE_FIRST, engine=CODES[portable]
    )
    tree, flat = (setting.simulation() for _ in range(2))
    expected, placed = (np.empty(len(trace), np.int64) for _ in range(2))
    tree.change_form()
    replay(tree, trace.replayed)
    visited = tree.figures()["visited"]
    replay(tree, trace.replayed, expected)
    visited = tree.figures()["visited"] - visited
    for _ in range(2):
        flat.change_form()
    replay(flat, trace.replayed)
    for _ in range(repeats):
        before = flat.figures()["visited"]
        replay(flat, trace.replayed, placed)
        np.testing.assert_array_equal(placed, expected)
        assert flat.figures()["visited"] - before == visited
    assert flat.check() is None
