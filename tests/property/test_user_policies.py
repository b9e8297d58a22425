"""Policies in Python: both engines agree, and agree with the catalogue's policy."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_engines_agree import assert_same, beginning, many_free_blocks, outcome

from simalloc.errors import PolicyError
from simalloc.heap import Realloc, simulate
from simalloc.policy import UserPolicy, find_policy
from simalloc.trace import Op, Trace
from traces import traces

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "policies.py"

TWINS = {
    f"{fit}-{order}": f"{EXAMPLES}:{name}:order={order}"
    for name, fit in (("FirstFit", "first-fit"), ("NextFit", "next-fit"), ("BestFit", "best-fit"))
    for order in ("ao", "lifo", "fifo")
}
OTHERS = ["WorstFit:order=lifo", "WorstFit", "MinimumSplit", "BetterFit", "HalfFit", "QuickLists"]

UNITS = st.sampled_from([16, 17, 48, 100, 4096, 65536])
OPTIONS = st.fixed_dictionaries(
    {
        "scale": st.sampled_from([1, 16, 3]),
        "realloc": st.sampled_from(Realloc),
        "largest_free": st.booleans(),
    }
)


def assert_alike(one, other):
    """Compare runs of two policies, or the events at which they failed."""
    if isinstance(one, str) or isinstance(other, str):
        assert str(one).partition("(")[0] == str(other).partition("(")[0]
        return
    counters = vars(other.counters)
    assert vars(one.counters) == pytest.approx(counters, rel=1e-11, nan_ok=True)
    assert one.addresses.tolist() == other.addresses.tolist()
    assert one.mapped.peak_bytes == other.mapped.peak_bytes
    assert one.largest_free == other.largest_free


@pytest.mark.parametrize("name", TWINS)
@given(trace=traces(), growth=UNITS, options=OPTIONS)
def test_the_catalogue_in_python_is_the_catalogue(name, trace, growth, options):
    own = outcome("core", trace, find_policy(TWINS[name], growth=growth), checked=True, **options)
    assert_alike(own, outcome("core", trace, find_policy(name, growth=growth), **options))


@pytest.mark.parametrize("name", [*TWINS.values(), *(f"{EXAMPLES}:{name}" for name in OTHERS)])
@given(trace=traces(), growth=UNITS, options=OPTIONS)
def test_both_engines_agree_on_a_policy_in_python(name, trace, growth, options):
    described = find_policy(name, growth=growth)
    core = outcome("core", trace, described, checked=True, **options)
    reference = outcome("reference", trace, described, checked=True, **options)
    if isinstance(core, str) or isinstance(reference, str):
        assert_alike(core, reference)
    else:
        assert_same(core, reference)


@pytest.mark.parametrize("name", TWINS)
def test_with_many_free_blocks(name):
    trace = many_free_blocks(seed=2)
    own = outcome("core", trace, TWINS[name])
    assert_alike(own, outcome("core", trace, name))
    simulate(trace.prefix(4500), TWINS[name], engine="core", checked=True)


@pytest.mark.parametrize(
    ("name", "asked"), [("best-fit-fifo", [25, 3]), ("best-fit-lifo", [25, 5, 3])]
)
def test_a_block_that_is_split_twice_finds_its_place_twice(name, asked):
    """The block of 30 bytes shrinks to 5, then to 2; each time some equal blocks entered later."""
    holes = [2, 30, 5, 2]
    gaps = [size for hole in holes for size in (hole, 1)]
    op = [Op.MALLOC] * len(gaps) + [Op.FREE] * len(holes) + [Op.MALLOC] * len(asked)
    number = [*range(len(gaps)), *range(0, len(gaps), 2)]
    number += range(len(gaps), len(gaps) + len(asked))
    trace = Trace.from_events(op, number, [*gaps, *([0] * len(holes)), *asked])
    own = outcome("core", trace, TWINS[name], checked=True)
    assert_alike(own, outcome("core", trace, name))


def test_on_the_beginning_of_a_shipped_trace():
    trace = beginning("espresso")
    for name, own in TWINS.items():
        assert_alike(outcome("core", trace, own), outcome("core", trace, name))
    for name in (*OTHERS, "ByLifetime:long=100"):
        own = f"{EXAMPLES}:{name}"
        assert_same(outcome("core", trace, own), outcome("reference", trace, own))


class Chaos(UserPolicy):
    """Policy that performs random operations, valid or not, and keeps a diary of the results."""

    seed = 0

    diary: list = []  # noqa: RUF012 - the latest simulation's, read by the test

    def begin(self, trace):
        self.random = Random(self.seed)
        self.known = []
        self.diary.clear()

    def malloc(self, heap, size):
        for _ in range(self.random.randrange(6)):
            self.act(heap, size)
        found = self.attempt("first_fit", heap.first_fit, size)
        return self.attempt("split", heap.split, found or heap.grow(size), size)

    def free(self, heap, block):
        self.known.append(block)
        for _ in range(self.random.randrange(6)):
            self.act(heap, 64)

    def resize(self, heap, block, size):
        return block.size >= size

    def act(self, heap, size):
        pick, order = self.random.choice, self.random.choice(["ao", "lifo", "fifo", "size", 7])
        one, other = (pick([*self.known[-9:], None, heap.last, heap.first]) for _ in range(2))
        number = pick([size, size // 3, 1, 0, -size, 17, 1 << 63, "16", None, 3.5])
        method, *arguments = pick(
            [
                ("first_fit", number),
                ("first_fit", number, order, one),
                ("next_fit", number, order),
                ("best_fit", number, order),
                ("worst_fit", number, order),
                ("free_blocks", order),
                ("split", one, number),
                ("split_high", one, number),
                ("merge", one),
                ("join", one, other),
                ("insert", one),
                ("insert", one),
                ("remove", one),
                ("extend", pick([number, 16 * 17])),
                ("grow", number, pick([1, 16, 0, 4096])),
                ("visit", pick([0, 1, -1, 5])),
                ("split",),
                ("merge", one, other),
            ]
        )
        found = self.attempt(method, getattr(heap, method), *arguments)
        if found is not None and not isinstance(found, list):
            self.known.append(found)

    def attempt(self, name, method, *arguments):
        try:
            found = method(*arguments)
        except (PolicyError, TypeError) as error:
            self.diary.append((name, isinstance(error, PolicyError) or type(error)))
            return None
        several = found if isinstance(found, list) else [found]
        self.diary.append((name, [one and (one.address, one.size) for one in several]))
        return found


@given(trace=traces(max_phases=6), seed=st.integers(0, 1 << 30), options=OPTIONS)
def test_chaos_does_the_same_in_both_engines_and_no_harm(trace, seed, options):
    diaries, answers = [], []
    for engine in ("core", "reference"):
        answers.append(outcome(engine, trace, Chaos(seed=seed), checked=True, **options))
        diaries.append(list(Chaos.diary))
    assert diaries[0] == diaries[1]
    if isinstance(answers[0], str) or isinstance(answers[1], str):
        assert_alike(*answers)
    else:
        assert_same(*answers)
