"""Both engines return the same addresses, measures, counters and timeline."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.heap._core import COMPILED_TWICE
from simalloc.policy import GROUPS, HEAP_POLICIES, find_policy
from simalloc.trace import Op, Trace, TraceReader
from simalloc.trace.catalogue import catalogue, find_trace
from traces import ONLINE, cases, cases_of_capacity

PREFIX = 600


def cores(policy):
    """Return a policy's engines in C: the portable engine is included only if its code differs."""
    twice = policy.description.core in COMPILED_TWICE
    return ("core", "core-portable") if twice else ("core",)


def outcome(engine, trace, name, *, checked=False, **options):
    """Return the run, or the message of its error."""
    try:
        return simulate(trace, name, engine=engine, addresses=True, checked=checked, **options)
    except SimallocError as error:
        return str(error).rpartition("event")[2]


MEANS = {"mean_bytes", "mean_to_live", "mean_to_live_by_bytes"}
"""Figures that the engines sum up in different orders, so that the last digits may differ."""
COMPARED_BY_FIELD = {"counters", "mapped", "resident", "largest_free", "timeline"}


def assert_same(one, other, where=""):
    """Compare two runs field by field, exactly except for `MEANS`."""
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    for field in fields(one):
        if field.name in ("seconds", "costs"):
            continue
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "occupied":
            for size, other_footprint in b.items():
                assert_same(a[size], other_footprint, f"{size}.")
        elif field.name in COMPARED_BY_FIELD and a is not None:
            assert_same(a, b, f"{field.name}.")
        elif isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b, where + field.name)
        elif isinstance(a, float):
            near = pytest.approx(b, rel=1e-11 if field.name in MEANS else 0, abs=0, nan_ok=True)
            assert a == near, where + field.name
        else:
            assert a == b, where + field.name


@pytest.mark.parametrize("name", ONLINE)
@given(data=st.data())
def test_on_drawn_traces(name, data):
    row = HEAP_POLICIES[name]
    case = data.draw(st.one_of(cases(row), cases(row), cases_of_capacity(row)))
    expected = outcome("reference", case.trace, case.policy, **case.options)
    capacity = case.policy.description.capacity
    if not isinstance(expected, str) and capacity:
        assert expected.mapped.peak_bytes <= capacity
    for core in cores(HEAP_POLICIES[name]):
        note(core)
        assert_same(outcome(core, case.trace, case.policy, checked=True, **case.options), expected)


def beginning(name):
    """Return the first events of a shipped trace, reading at most its first chunk."""
    with TraceReader(find_trace(name)) as reader:
        chunk = next(reader.chunks())
    columns = (column[:PREFIX] for column in (chunk.op, chunk.object, chunk.size))
    return Trace.from_events(*columns)


@pytest.mark.parametrize(("number", "trace_name"), list(enumerate(catalogue())))
def test_on_the_beginning_of_each_shipped_trace(number, trace_name):
    """Each policy replays every tenth trace; the drawn traces cover all policies."""
    trace = beginning(trace_name)
    for each in ONLINE[number % 10 :: 10]:
        expected = outcome("reference", trace, each)
        runs = [outcome(core, trace, each) for core in cores(HEAP_POLICIES[each])]
        for run in runs:
            assert_same(run, expected)
            assert digits(run) == digits(runs[0])


def digits(run):
    """Return all digits of the means, which are equal in both cores on every processor."""
    counters = run.counters
    means = (run.mapped.mean_to_live, run.mapped.mean_to_live_by_bytes, counters.free_blocks_mean)
    return [mean.hex() for mean in means]


def many_free_blocks(seed, *, objects=1501, size=900, start=0):
    """Make half of the objects free blocks of many sizes, and allocate and free some of them.

    Sizes are below `size`. All blocks are located after a block of `start` bytes that is never
    freed.
    """
    random = np.random.default_rng(seed)
    sizes = [start, *random.integers(1, size, objects - 1)]
    op = [Op.MALLOC] * objects
    number = list(range(objects))
    live = [number for number in range(1, objects) if number % 2]
    gone = [number for number in range(1, objects) if not number % 2]
    random.shuffle(gone)
    op += [Op.FREE] * len(gone)
    number += gone
    for more in random.integers(1, size, 800):
        victim = live.pop(random.integers(len(live)))
        op += [Op.MALLOC, Op.FREE]
        number += [objects, victim]
        live.append(objects)
        sizes.append(more)
        objects += 1
    asked = [int(sizes[n]) if o == Op.MALLOC else 0 for o, n in zip(op, number, strict=True)]
    return Trace.from_events(op, number, asked)


ONE_OF_EACH_CORE = {HEAP_POLICIES[name].description.core: name for name in reversed(ONLINE)}
"""One row of each family that has its own code in the core."""
OF_ANY_SIZE = {*GROUPS["johnstone-wilson"], "worst-fit-ao", "worst-fit-lifo", "worst-fit-fifo"}


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        (name, shape)
        for name in sorted({*OF_ANY_SIZE, *ONE_OF_EACH_CORE.values()})
        for shape in ({}, {"size": 90_000}, {"start": 1 << 40})
        if not shape or name in OF_ANY_SIZE
    ],
    ids=str,
)
def test_with_many_free_blocks(name, shape):
    """The index of free blocks has several levels here, which split and merge.

    The indexes of Johnstone & Wilson's policies and of worst fit store sizes and addresses in few
    bits, and some of the shapes exceed these. Trees that the real code did not balance have no such
    index. They become so deep that they are tested with fewer objects.
    """
    objects = 801 if HEAP_POLICIES[name].description.core == "address trees" else 1501
    trace = many_free_blocks(seed=1, objects=objects, **shape)
    expected = outcome("reference", trace, name)
    if name in OF_ANY_SIZE:  # other policies map large blocks or cache freed ones
        assert expected.counters.free_blocks_peak > 600
    for core in cores(find_policy(name)):
        assert_same(outcome(core, trace, name), expected)
        simulate(trace.prefix(2800), name, engine=core, checked=True)


def rests_among_equals(seed):
    """Free 900 blocks of three sizes in random order; split larger ones, then use the remainders.

    All remainders are as large as the smallest blocks. Their order among these blocks follows the
    times of the blocks that they come from.
    """
    random = np.random.default_rng(seed)
    least = 63
    sizes = random.permutation(np.repeat([least, 2 * least + 1, 3 * least + 1], 300))
    gaps = [number for size in sizes for number in (size, 1)]
    asked = [*random.permutation(np.repeat([least + 1, 2 * least + 1], 300)), *([least] * 900)]
    objects = len(gaps) + len(asked)
    number = [*range(len(gaps)), *random.permutation(np.arange(0, len(gaps), 2))]
    op = [Op.MALLOC] * len(gaps) + [Op.FREE] * len(sizes) + [Op.MALLOC] * len(asked)
    number += range(len(gaps), objects)
    size = [*gaps, *([0] * len(sizes)), *asked]
    return Trace.from_events(op, number, size)


def rests_at_two_times(objects=260):
    """Free blocks of 10, 100, again 10 and 200 bytes; then allocate 90 and 190 in turn.

    The remainders all have 10 bytes. In turn, they belong before and after hundreds of equal
    blocks. Finally the objects between them are freed too, and all memory is allocated.
    """
    kinds = np.repeat([10, 100, 10, 200, 10], [10, objects, 2 * objects, objects, 10])
    gaps = [size for kind in kinds for size in (kind, 1)]
    asked = [*([90, 190] * objects), *([10] * objects)]
    number = [*range(len(gaps)), *range(0, len(gaps), 2), *range(len(gaps), len(gaps) + len(asked))]
    number += [
        *range(1, len(gaps), 6),
        *range(len(gaps) + len(asked), len(gaps) + len(asked) + 900),
    ]
    op = [Op.MALLOC] * len(gaps) + [Op.FREE] * len(kinds) + [Op.MALLOC] * len(asked)
    op += [Op.FREE] * len(range(1, len(gaps), 6)) + [Op.MALLOC] * 900
    size = np.zeros(len(op), np.int64)
    size[np.array(op) == Op.MALLOC] = [*gaps, *asked, *([5, 10, 21] * 300)]
    return Trace.from_events(op, number, size)


@pytest.mark.parametrize("trace", [rests_among_equals(seed=1), rests_at_two_times()], ids=len)
@pytest.mark.parametrize(
    "name", [name for name in HEAP_POLICIES if name.startswith(("best-fit", "worst-fit"))]
)
def test_rests_keep_their_places_among_equal_blocks(name, trace):
    expected = outcome("reference", trace, name)
    assert expected.counters.splits > 500
    for core in cores(find_policy(name)):
        assert_same(outcome(core, trace, name, checked=True), expected)


@pytest.mark.parametrize(
    "name",
    ["first-fit-ao", "best-fit-ao", "lea-2.6.1", "binary-buddy", "double-buddy", "simple-seg-2n"],
)
def test_with_many_live_objects(name):
    """The block table is large enough here that the core reserves its memory in advance."""
    random = np.random.default_rng(1)
    live, turns = 17_000, 1000
    number = random.permutation(live)[:turns]
    op = np.concatenate([np.full(live, Op.MALLOC), np.tile([Op.FREE, Op.MALLOC], turns)])
    key = np.concatenate([np.arange(live), np.repeat(number, 2)])
    size = np.where(op == Op.MALLOC, random.integers(1, 100, len(op)), 0)
    trace = Trace.from_events(op.astype(np.uint8), key, size)
    expected = outcome("reference", trace, name)
    for core in cores(find_policy(name)):
        assert_same(outcome(core, trace, name), expected)
