"""Strategies for traces and policies that tell two engines apart.

A trace is drawn as a few phases over a small palette of sizes, so that exact fits, equal blocks and
coalescing are common: combs, ramps, sawteeth, everything freed before something large, and plain
mixes. Phases are lists of small numbers, hence what Hypothesis finds shrinks to a few events.
"""

from dataclasses import dataclass, field

from hypothesis import strategies as st

from simalloc.heap.run import Realloc
from simalloc.policy import (
    CATALOGUE,
    BinaryBuddy,
    BinnedFit,
    DoubleBuddy,
    LastRemainder,
    Order,
    Policy,
    SegregatedStorage,
    SequentialFit,
)
from simalloc.trace.trace import Op, Trace

LARGEST = 1 << 40


@dataclass
class Script:
    """The events of a trace as they are written; objects are picked by their place among the live.

    `sizes` is the palette. Numbers outside of it, and of the live objects, are taken modulo.
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

    # The phases: what they need is drawn by `_phase`.

    def mix(self, steps):
        """Malloc, free and realloc in any order."""
        for what, place, number in steps:
            if what == "malloc":
                self.malloc(self.size(number))
            elif what == "free":
                self.free(place)
            else:
                self.realloc(place, self.size(number))

    def comb(self, count, number, every, other):
        """Fill with one size, free every so many, and fill the gaps with another size."""
        first = len(self.live)
        for _ in range(count):
            self.malloc(self.size(number))
        teeth = range(first, first + count, every)
        for place in reversed(teeth):
            self.free(place)
        for _ in teeth:
            self.malloc(self.size(other))

    def ramp(self, count, number, step, place):
        """Let sizes rise or fall, freeing an older object after each."""
        for i in range(count):
            self.malloc(max(self.size(number) + i * step, 0))
            if i % 2:
                self.free(place)

    def sawtooth(self, count, numbers, newest_first):
        """Rise with a few sizes in turn, then free it all, from one end or the other."""
        first = len(self.live)
        for i in range(count):
            self.malloc(self.size(numbers[i % len(numbers)]))
        for _ in range(count):
            self.free(-1 if newest_first else first)

    def renew(self, place, count):
        """Free neighbours in a row, then ask for the same sizes again, and for their sum."""
        row = self.live[place % len(self.live) :][:count] if self.live else []
        for _ in row:
            self.free(place % len(self.live))
        for _, size in row:
            self.malloc(size)
        self.free(-1)
        self.malloc(min(sum(size for _, size in row), LARGEST))

    def clear(self, newest_first, number):
        """Free everything, then ask for all of it, and a bit more, at once."""
        total = sum(size for _, size in self.live)
        while self.live:
            self.free(-1 if newest_first else 0)
        self.malloc(min(total + self.size(number), LARGEST))

    def stretch(self, place, numbers):
        """Reallocate one object again and again."""
        for number in numbers:
            self.realloc(place, self.size(number))


_small = st.integers(0, 7)
_count = st.integers(1, 12)
_step = st.tuples(st.sampled_from(["malloc", "free", "malloc", "free", "realloc"]), _small, _small)
_phase = st.one_of(
    st.tuples(st.just("mix"), st.lists(_step, max_size=30)),
    st.tuples(st.just("mix"), st.lists(_step, max_size=30)),
    st.tuples(st.just("comb"), _count, _small, st.integers(1, 3), _small),
    st.tuples(st.just("ramp"), _count, _small, st.integers(-9, 9), _small),
    st.tuples(st.just("sawtooth"), _count, st.lists(_small, min_size=1, max_size=4), st.booleans()),
    st.tuples(st.just("renew"), _small, st.integers(1, 4)),
    st.tuples(st.just("clear"), st.booleans(), _small),
    st.tuples(st.just("stretch"), _small, st.lists(_small, max_size=5)),
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
    """Draw a few sizes, with the sums and multiples that coalesced blocks of them would have."""
    sizes = draw(st.lists(_size, min_size=1, max_size=4))
    sizes += draw(st.lists(_huge, max_size=1)) if draw(st.integers(0, 3)) == 3 else []
    factors = draw(st.lists(st.sampled_from([(1, 1), (2, 0), (3, 0), (1, -1)]), max_size=3))
    a, b = sizes[0], sizes[-1]
    return sizes + [min(abs(a * x + b * y), LARGEST) for x, y in factors]


@st.composite
def traces(draw, *, max_phases=6):
    """Draw a valid trace of up to a few hundred events, with sizes from 0 to 2**40."""
    script = Script(draw(palettes()))
    for name, *arguments in draw(st.lists(_phase, min_size=1, max_size=max_phases)):
        getattr(script, name)(*arguments)
    columns = zip(*script.events, strict=True) if script.events else ((), (), ())
    return Trace.from_events(*columns, name="drawn")


_unit = st.sampled_from([16, 17, 48, 100, 256, 1000, 4096, 8192, 65536])
_buddy_unit = st.sampled_from([16, 32, 64, 256, 1024, 4096, 8192, 65536])
_order = st.sampled_from(Order)

PARAMETERS = {
    SequentialFit: {"growth": _unit},
    BinnedFit: {
        "growth": _unit,
        "small": st.sampled_from([1, 32, 64, 160, 504, 4096, 1 << 40]),
        "last_remainder": st.sampled_from(LastRemainder),
    },
    SegregatedStorage: {"growth": _unit, "growth_3x": _unit},
    BinaryBuddy: {"growth": _buddy_unit, "order": _order},
    DoubleBuddy: {
        "growth": _buddy_unit,
        "growth_3x": _buddy_unit.map(lambda unit: unit * 3 // 2),
        "order": _order,
    },
}
"""What may be drawn for the parameters of each family."""


@st.composite
def variants(draw, policy):
    """Draw a policy with the parameters of `policy` or with others."""
    drawn = st.fixed_dictionaries({}, optional=PARAMETERS.get(type(policy.description), {}))
    return policy.with_parameters(**draw(drawn))


def policies():
    """Draw any policy of the catalogue, with any parameters."""
    return st.sampled_from(sorted(CATALOGUE)).flatmap(lambda name: variants(CATALOGUE[name]))


@dataclass(frozen=True)
class Case:
    """What one simulation is given."""

    trace: Trace
    policy: Policy
    scale: int
    realloc: Realloc


def cases(policy=None):
    """Draw a simulation, of variants of `policy` or of any policy of the catalogue."""
    return st.builds(
        Case,
        trace=traces(),
        policy=policies() if policy is None else variants(policy),
        scale=st.sampled_from([1, 16, 3]),
        realloc=st.sampled_from(Realloc),
    )
