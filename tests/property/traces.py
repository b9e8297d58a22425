"""Strategies for traces and policies that reveal differences between two engines.

A trace is drawn as a few phases over a small palette of sizes, so that exact fits, equal blocks and
coalescing are common: combs, ramps, sawteeth, freeing everything before a large request, and plain
mixes. Phases are lists of small numbers. Therefore Hypothesis shrinks a finding to a few events.
Only a storm is random from a seed, which finds more and shrinks less.
"""

from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
from drawn_parameters import COMMON, OLDER, OVERHEAD, drawn_parameters
from hypothesis import assume, reject
from hypothesis import strategies as st

from simalloc.errors import PolicyError
from simalloc.heap.run_options import Realloc
from simalloc.policy import CATALOGUE, Policy
from simalloc.policy.families.pymalloc import Pymalloc
from simalloc.trace.trace import Op, Trace

LARGEST = 1 << 40

ONLINE = sorted(name for name, row in CATALOGUE.items() if row.description.runner == "online")
"""Policies that place objects online."""


@dataclass
class Script:
    """Events of a trace under construction; objects are chosen by position among the live ones.

    `sizes` is the palette. Numbers outside the palette, or outside the live objects, are taken
    modulo.
    """

    sizes: list[int]
    events: list[tuple[int, int, int]] = field(default_factory=list)
    live: list[tuple[int, int]] = field(default_factory=list)
    objects: int = 0

    def malloc(self, size):
        self.events.append((Op.MALLOC, self.objects, size))
        self.live.append((self.objects, size))
        self.objects += 1

    def free(self, place):
        if self.live:
            number, _ = self.live.pop(place % len(self.live))
            self.events.append((Op.FREE, number, 0))

    def realloc(self, place, size):
        if self.live:
            place %= len(self.live)
            number, _ = self.live[place]
            self.live[place] = number, size
            self.events.append((Op.REALLOC, number, size))

    def size(self, number):
        return self.sizes[number % len(self.sizes)]

    # Phases, whose arguments `_phase` draws.

    def fill(self, count, numbers):
        """Allocate objects of a few sizes in turn."""
        for i in range(count):
            self.malloc(self.size(numbers[i % len(numbers)]))

    def scatter(self, places):
        """Free objects at some positions."""
        for place in places:
            self.free(place)

    def mix(self, steps):
        """Allocate, free and reallocate in any order."""
        for what, place, number in steps:
            if what == "malloc":
                self.malloc(self.size(number))
            elif what == "free":
                self.free(place)
            else:
                self.realloc(place, self.size(number))

    def comb(self, count, number, every, other):
        """Fill with one size, free one object in `every`, and fill the gaps with another size."""
        first = len(self.live)
        self.fill(count, [number])
        teeth = range(first, first + count, every)
        for place in reversed(teeth):
            self.free(place)
        self.fill(len(teeth), [other])

    def ramp(self, count, number, step, place):
        """Allocate rising or falling sizes, and free an older object after every second one."""
        for i in range(count):
            self.malloc(max(self.size(number) + i * step, 0))
            if i % 2:
                self.free(place)

    def sawtooth(self, count, numbers, newest_first):
        """Allocate a few sizes in turn, then free all these objects from one end or the other."""
        first = len(self.live)
        self.fill(count, numbers)
        for _ in range(count):
            self.free(-1 if newest_first else first)

    def renew(self, place, count):
        """Free neighbours in a row, then allocate the same sizes again, and their sum."""
        row = self.live[place % len(self.live) :][:count] if self.live else []
        for _ in row:
            self.free(place % len(self.live))
        for _, size in row:
            self.malloc(size)
        self.free(-1)
        self.malloc(min(sum(size for _, size in row), LARGEST))

    def clear(self, newest_first, number):
        """Free everything, then allocate the same total and a bit more at once."""
        total = sum(size for _, size in self.live)
        while self.live:
            self.free(-1 if newest_first else 0)
        self.malloc(min(total + self.size(number), LARGEST))

    def stretch(self, changes):
        """Reallocate objects to a slightly larger or smaller size."""
        for place, number, sign in changes:
            if self.live:
                _, size = self.live[place % len(self.live)]
                self.realloc(place, min(max(size + sign * self.size(number), 0), LARGEST))

    def storm(self, seed, count, population):
        """Malloc, free and realloc at random around `population` live objects."""
        random = Random(seed)
        for _ in range(count):
            place, number = random.randrange(1 << 16), random.randrange(1 << 16)
            if random.random() < 0.2:
                self.stretch([(place, number, random.choice([1, -1]))])
            elif len(self.live) < random.randrange(2 * population):
                self.malloc(self.size(number))
            else:
                self.free(place)

    def probe(self, numbers):
        """Allocate without freeing, which reveals the order in which free blocks are used."""
        for number in numbers:
            self.fill(4, [number])


_number = st.integers(0, 7)
_numbers = st.lists(_number, min_size=1, max_size=4)
_place = st.integers(0, 30)
_count = st.integers(1, 16)
_step = st.tuples(st.sampled_from(["malloc", "free", "malloc", "free", "realloc"]), _place, _number)
_change = st.tuples(_place, _number, st.sampled_from([1, -1]))
_phase = st.one_of(
    st.tuples(st.just("fill"), _count, _numbers),
    st.tuples(st.just("scatter"), st.lists(_place, max_size=12)),
    st.tuples(st.just("mix"), st.lists(_step, max_size=30)),
    st.tuples(st.just("comb"), _count, _number, st.integers(1, 3), _number),
    st.tuples(st.just("ramp"), _count, _number, st.integers(-9, 9), _place),
    st.tuples(st.just("sawtooth"), _count, _numbers, st.booleans()),
    st.tuples(st.just("renew"), _place, st.integers(1, 4)),
    st.tuples(st.just("clear"), st.booleans(), _number),
    st.tuples(st.just("stretch"), st.lists(_change, max_size=8)),
    st.tuples(st.just("storm"), st.integers(0, 1 << 32), st.integers(1, 150), st.integers(1, 40)),
    st.tuples(st.just("probe"), _numbers),
)

_power = st.integers(0, 14).map(lambda n: 1 << n)
_size = st.one_of(
    st.integers(0, 10),
    st.integers(0, 200),
    st.builds(lambda power, by, off: max(power * by + off, 0), _power, st.sampled_from([1, 3]),
              st.integers(-1, 1)),
)  # fmt: skip
_huge = st.one_of(st.integers(1 << 16, LARGEST), st.integers(16, 40).map(lambda n: 1 << n))


@st.composite
def palettes(draw):
    """Draw a few sizes, with the sums and multiples that coalesced blocks of these sizes have."""
    sizes = draw(st.lists(_size, min_size=1, max_size=3))
    if draw(st.integers(0, 5)) == 5:
        sizes.append(draw(_huge))
    factors = draw(st.lists(st.sampled_from([(1, 1), (2, 0), (3, 0), (1, -1)]), max_size=3))
    a, b = sizes[0], sizes[-1]
    return sizes + [min(abs(a * x + b * y), LARGEST) for x, y in factors]


@st.composite
def traces(draw, *, max_phases=12, aligned=False, threaded=False):
    """Draw a valid trace of up to a few hundred events, with sizes from 0 to 2**40.

    With `aligned` some requests may have an alignment. With `threaded` the trace may have threads,
    thread exits, a clock, callocs, partly written objects, and releases of cached memory.
    """
    script = Script(draw(palettes()))
    for name, *arguments in draw(st.lists(_phase, min_size=1, max_size=max_phases)):
        getattr(script, name)(*arguments)
    script.probe(draw(st.lists(_number, max_size=4)))
    if threaded:
        script.events = draw(_threaded(script.events))
    columns = zip(*script.events, strict=True) if script.events else ((), (), ())
    asked = draw(st.lists(_alignment, max_size=4)) if aligned else []
    threads = draw(st.lists(st.integers(0, 3), max_size=9)) if threaded else []
    pauses = draw(st.lists(_pause, max_size=6)) if threaded else []
    unwritten = draw(st.lists(_unwritten, max_size=3)) if threaded else []
    drawn = {"alignment": asked, "thread": threads, "time": pauses, "unwritten": unwritten}
    more = {name: np.resize(some, len(script.events)) for name, some in drawn.items() if some}
    if pauses:
        more["time"] = more["time"].cumsum()
    return Trace.from_events(*columns, name="drawn", **more)


@st.composite
def _threaded(draw, events):
    """Draw the mallocs that become callocs, the thread exits, and the releases of caches."""
    zeroed = draw(st.lists(st.booleans(), min_size=1, max_size=4))
    ends = st.sampled_from([None] * 6 + [Op.THREAD_END, Op.EMPTY])
    before = draw(st.lists(ends, min_size=1, max_size=20))
    changed = []
    for place, (op, number, size) in enumerate(events):
        end = before[place % len(before)]
        changed += [] if end is None else [(end, -1, 0)]
        is_calloc = op == Op.MALLOC and zeroed[place % len(zeroed)]
        changed.append((Op.CALLOC if is_calloc else op, number, size))
    return changed


_unwritten = st.sampled_from([0, 0, 1, 100, 4096, 1 << 20, 1 << 40])
_alignment = st.sampled_from([0, 0, 1, 2, 8, 24, 64, 4096])
_pause = st.sampled_from([0, 0, 1, 10**3, 10**6, 3 * 10**7, 10**9, 10**10])


@st.composite
def variants(draw, policy, *, parts=True):
    """Draw a variant of `policy`; half of the variants change only parameters of the family.

    Without `parts`, all variants change only these parameters.
    """
    family = type(policy.description)
    drawn = st.fixed_dictionaries({}, optional=drawn_parameters(family))
    if family in OLDER:
        others = {name: some for name, some in OLDER[family].items() if name != "version"}
        version = {"version": OLDER[family]["version"]}
        drawn = st.one_of(drawn, st.fixed_dictionaries(version, optional=others))
    given = draw(drawn)
    if parts and draw(st.booleans()):
        waits = {} if isinstance(policy.description, Pymalloc) else COMMON
        given |= draw(st.fixed_dictionaries({}, optional=waits)) | draw(OVERHEAD)
    drawn = policy.with_parameters(**given)
    if parts and drawn.description.aligning and draw(st.booleans()):
        return drawn.with_parameters(memalign=True)
    return drawn


def policies():
    """Draw any policy of the catalogue with any parameters."""
    return st.sampled_from(ONLINE).flatmap(lambda name: variants(CATALOGUE[name]))


@dataclass(frozen=True)
class Case:
    """Arguments of one simulation."""

    trace: Trace
    policy: Policy
    scale: int
    realloc: Realloc
    pages: dict[str, int]
    """Measurements besides mapped bytes: resident pages, and the largest free block."""

    @property
    def options(self):
        """Keyword arguments of `simulate`."""
        return {"scale": self.scale, "realloc": self.realloc, **self.pages}


_pages = st.fixed_dictionaries(
    {
        "resident": st.just(value=True),
        "page": st.sampled_from([4096, 1 << 16, 1 << 21]),
        "writes": st.booleans(),
        "occupied": st.sampled_from([(), (4096,), (1 << 16, 1 << 21)]),
        "largest_free": st.booleans(),
    }
)


def cases(policy=None, *, parts=True):
    """Draw a simulation of variants of `policy`, or of any policy of the catalogue."""
    return st.builds(
        Case,
        trace=traces(aligned=True, threaded=True),
        policy=policies() if policy is None else variants(policy, parts=parts),
        scale=st.sampled_from([1, 16, 3]),
        realloc=st.sampled_from([*Realloc, Realloc.IN_PLACE]),
        pages=st.one_of(st.just({}), st.just({"largest_free": True}), _pages),
    ).map(_at_its_scale)


@st.composite
def cases_of_capacity(draw, policy, *, parts=True):
    """Draw a simulation with a capacity that refuses some, all or none of its requests."""
    case = draw(cases(policy, parts=parts))
    live = int(case.trace.replayed.live.max(initial=0))
    share = draw(st.sampled_from([0, 0.3, 0.8, 1, 1.3, 2]))
    more = draw(st.sampled_from([0, 1, 100, 5000, 1 << 16, 300_000, 1 << 21, 5 << 20, 80 << 20]))
    capacity = min(max(int(share * live) + more, 1), 1 << 40)
    try:
        limited = case.policy.with_parameters(capacity=capacity)
    except PolicyError:  # for example, a pool of tlsf whose blocks wait
        reject()
    assume(not getattr(limited.description, "is_pool", False))  # a pool has no reference
    return replace(case, policy=limited)


def _at_its_scale(case):
    """Return a case at the only scale that its policy supports, if it has one."""
    return replace(case, scale=case.policy.description.only_scale or case.scale)
