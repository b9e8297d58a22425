"""Strategies for traces and policies that tell two engines apart.

A trace is drawn as a few phases over a small palette of sizes, so that exact fits, equal blocks and
coalescing are common: combs, ramps, sawteeth, everything freed before something large, and plain
mixes. Phases are lists of small numbers, hence what Hypothesis finds shrinks to a few events; only
a storm is random from a seed, which finds more and shrinks less.
"""

from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
from hypothesis import strategies as st

from simalloc.heap.run import Realloc
from simalloc.policy import CATALOGUE, Order, Policy
from simalloc.policy.families.address_trees import AddressTrees, TreeFit
from simalloc.policy.families.binary_buddy import BinaryBuddy
from simalloc.policy.families.binned_fit import BinnedFit, LastRemainder
from simalloc.policy.families.bw_gc import BwGc
from simalloc.policy.families.cartesian import Cartesian, Machine
from simalloc.policy.families.csri import Csri
from simalloc.policy.families.dlmalloc import Dlmalloc
from simalloc.policy.families.double_buddy import DoubleBuddy
from simalloc.policy.families.gnu import Gnu
from simalloc.policy.families.gxx import Gxx
from simalloc.policy.families.jemalloc import Jemalloc, Version
from simalloc.policy.families.lea import Lea
from simalloc.policy.families.mimalloc import Mimalloc, MimallocVersion, ReclaimOnFree
from simalloc.policy.families.modified_buddy import ModifiedBuddy
from simalloc.policy.families.musl import Musl
from simalloc.policy.families.phk import PageOrder, Phk
from simalloc.policy.families.ptmalloc import GlibcVersion, Ptmalloc, ThreadBlocks
from simalloc.policy.families.pymalloc import Pymalloc, PythonVersion
from simalloc.policy.families.quick_fit import QuickFit
from simalloc.policy.families.scudo import Config, Purge, Scudo
from simalloc.policy.families.segregated_fit import ListFit, ListOrder, SegregatedFit
from simalloc.policy.families.segregated_storage import SegregatedStorage
from simalloc.policy.families.sequential_fit import SequentialFit
from simalloc.policy.families.solaris import Solaris
from simalloc.policy.families.solaris_3x import Solaris3x
from simalloc.policy.families.tcmalloc import Tcmalloc, TcmallocVersion
from simalloc.policy.families.tlsf import Tlsf
from simalloc.policy.families.vmalloc import Vmalloc
from simalloc.policy.parts import Coalescing, Spacing
from simalloc.trace.trace import Op, Trace

LARGEST = 1 << 40

ONLINE = sorted(name for name, row in CATALOGUE.items() if row.description.runner == "online")
"""The policies that place objects as they come."""


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

    def fill(self, count, numbers):
        """Allocate a few sizes in turn."""
        for i in range(count):
            self.malloc(self.size(numbers[i % len(numbers)]))

    def scatter(self, places):
        """Free here and there."""
        for place in places:
            self.free(place)

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
        self.fill(count, [number])
        teeth = range(first, first + count, every)
        for place in reversed(teeth):
            self.free(place)
        self.fill(len(teeth), [other])

    def ramp(self, count, number, step, place):
        """Let sizes rise or fall, freeing an older object after each second one."""
        for i in range(count):
            self.malloc(max(self.size(number) + i * step, 0))
            if i % 2:
                self.free(place)

    def sawtooth(self, count, numbers, newest_first):
        """Rise with a few sizes in turn, then free it all, from one end or the other."""
        first = len(self.live)
        self.fill(count, numbers)
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

    def stretch(self, changes):
        """Reallocate objects to a bit more or a bit less than they have."""
        for place, number, sign in changes:
            if self.live:
                _, size = self.live[place % len(self.live)]
                self.realloc(place, min(max(size + sign * self.size(number), 0), LARGEST))

    def storm(self, seed, count, population):
        """Malloc, free and realloc at random around so many live objects."""
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
        """Allocate without freeing, which shows in which order the free blocks are taken."""
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
    """Draw a few sizes, with the sums and multiples that coalesced blocks of them would have."""
    sizes = draw(st.lists(_size, min_size=1, max_size=3))
    if draw(st.integers(0, 5)) == 5:
        sizes.append(draw(_huge))
    factors = draw(st.lists(st.sampled_from([(1, 1), (2, 0), (3, 0), (1, -1)]), max_size=3))
    a, b = sizes[0], sizes[-1]
    return sizes + [min(abs(a * x + b * y), LARGEST) for x, y in factors]


@st.composite
def traces(draw, *, max_phases=12, aligned=False, threaded=False):
    """Draw a valid trace of up to a few hundred events, with sizes from 0 to 2**40.

    With `aligned` some requests may ask for an alignment; with `threaded` there may be threads,
    some of which end, a clock, and callocs, and what is cached may be given back.
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
    drawn = {"alignment": asked, "thread": threads, "time": pauses}
    more = {name: np.resize(some, len(script.events)) for name, some in drawn.items() if some}
    if pauses:
        more["time"] = more["time"].cumsum()
    return Trace.from_events(*columns, name="drawn", **more)


@st.composite
def _threaded(draw, events):
    """Draw which of the mallocs are callocs, and where threads end or caches are given back."""
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


_alignment = st.sampled_from([0, 0, 1, 2, 8, 24, 64, 4096])
_pause = st.sampled_from([0, 0, 1, 10**3, 10**6, 3 * 10**7, 10**9, 10**10])
_unit = st.sampled_from([1, 16, 17, 48, 64, 100, 256, 1000, 4096, 8192, 65536])
_buddy_unit = st.sampled_from([16, 32, 64, 256, 1024, 4096, 8192, 65536])
_order = st.sampled_from(Order)

_COMMON = {
    "quick": st.sampled_from([0, 16, 64, 500, 1 << 20]),
    "cache": st.sampled_from([0, 1, 3, 10]),
    "count_frees": st.booleans(),
}
_SPLITTING = {
    "growth": _unit,
    "minimum_split": st.sampled_from([1, 8, 32, 100]),
    "count_tail": st.booleans(),
    "trim": st.sampled_from([0, 1, 48, 1000, 8192]),
    "trim_keep": st.sampled_from([0, 100, 4096]),
}
_OVERHEAD = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"mechanism": st.just(value=True), "word": st.sampled_from([4, 8])}),
    st.fixed_dictionaries(
        {
            "mechanism": st.just(value=False),
            "header": st.sampled_from([0, 1, 4, 8, 9, 100]),
            "footer": st.sampled_from([0, 4, 11]),
            "alignment": st.sampled_from([1, 8, 24, 100]),
            "minimum": st.sampled_from([1, 16, 40]),
        }
    ),
)
_CLASSED = {
    **_SPLITTING,
    "interval": st.sampled_from([1, 16, 64, 1000]),
}

_threshold = st.sampled_from([0, 1, 500, 3000, 1 << 16])
_page = st.sampled_from([1024, 4096])

PARAMETERS = {
    SequentialFit: _SPLITTING,
    BinnedFit: {
        **_SPLITTING,
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
    AddressTrees: {
        **_CLASSED,
        "fit": st.sampled_from(TreeFit),
        "trees": st.sampled_from([1, 2, 8, 9]),
        "coalescing": st.sampled_from(Coalescing),
        "rebalance": st.sampled_from([1, 7, 40]),
    },
    SegregatedFit: {
        **_CLASSED,
        "fit": st.sampled_from(ListFit),
        "order": st.sampled_from(ListOrder),
        "spacing": st.sampled_from(Spacing),
        "classes": st.sampled_from([1, 2, 8, 9]),
        "coalescing": st.sampled_from([Coalescing.NONE, Coalescing.ALL]),
    },
    ModifiedBuddy: {"growth": _buddy_unit, "order": _order},
    Cartesian: {"growth": _unit, "machine": st.sampled_from(Machine)},
    Csri: {"growth": _unit, "minimum_split": st.sampled_from([1, 16])},
    Dlmalloc: {"growth": _unit, "trim": _threshold, "map_from": _threshold},
    Gnu: {
        "page": st.sampled_from([1024, 4096, 1 << 16]),
        "returned": st.sampled_from([100, 8192, 32768]),
    },
    Gxx: {"growth": _unit, "preallocate": st.sampled_from([0, 1, 5])},
    BwGc: {
        "page": _page,
        "roots": st.sampled_from([0, 65536]),
        "divisor": st.sampled_from([1, 4, 1 << 30]),
        "increment": st.sampled_from([1, 16]),
        "most": st.sampled_from([2, 512]),
    },
    Jemalloc: {
        "cores": st.sampled_from([1, 8]),
        "retain": st.booleans(),
        "cxx_pool": st.booleans(),
        "version": st.sampled_from(Version),
        "narenas": st.sampled_from([0, 1, 3]),
        "dirty_decay_ms": st.sampled_from([-1, 0, 20, 10_000]),
        "muzzy_decay_ms": st.sampled_from([-1, 0, 40]),
        "tcache": st.booleans(),
        "tcache_max": st.sampled_from([8, 1000, 32768, 1 << 20]),
        "tcache_ncached_max": st.sampled_from(["", "1-64:3|500-500:0"]),
        "slab_sizes": st.sampled_from(["", "1-4096:3|100-200:1"]),
        "lg_tcache_nslots_mul": st.sampled_from([-3, 1]),
        "tcache_nslots_small_min": st.sampled_from([1, 20]),
        "tcache_nslots_small_max": st.sampled_from([3, 200]),
        "tcache_nslots_large": st.sampled_from([1, 20]),
        "tcache_gc_incr_bytes": st.sampled_from([100, 65536]),
        "experimental_tcache_gc": st.booleans(),
        "oversize_threshold": st.sampled_from([0, 50_000, 8 << 20]),
        "lg_extent_max_active_fit": st.sampled_from([0, 6]),
        "disable_large_size_classes": st.booleans(),
        "calloc_madvise_threshold": st.sampled_from([0, 8 << 20]),
        "background_thread": st.booleans(),
        "cache_oblivious": st.booleans(),
        "tick": st.sampled_from([0, 1000, 5_000_000]),
    },
    Lea: {"growth": _unit, "trim": _threshold, "map_from": _threshold},
    Mimalloc: {
        "mechanism": st.booleans(),
        "tick": st.sampled_from([0, 10**9]),
        "base": st.sampled_from([0, 1 << 46]),
        "hint_delta": st.sampled_from([0, 255 << 20]),
        "purge_delay": st.sampled_from([0, 1, 1 << 32]),
        "purge_decommits": st.booleans(),
        "arena_reserve": st.sampled_from([32 << 20, 256 << 20]),
        "arena_eager_commit": st.booleans(),
        "arena_purge_min_size": st.sampled_from([0, 1 << 16, 3 << 16]),
        "arena_purge_immediate_size": st.sampled_from([0, 1 << 19]),
        "allow_thp": st.sampled_from([0, 1]),
        "page_reclaim_on_free": st.sampled_from(ReclaimOnFree),
        "page_full_retain": st.sampled_from([0, 100]),
        "page_max_candidates": st.sampled_from([0, 1, 100]),
        "page_max_reclaim": st.sampled_from([0, 1]),
        "page_cross_thread_max_reclaim": st.sampled_from([0, 1]),
        "generic_collect": st.sampled_from([0, 1000]),
        "disallow_arena_alloc": st.booleans(),
    },
    Musl: {"bounce": st.booleans(), "madv_free": st.booleans()},
    Phk: {
        "page": _page,
        "keep": st.sampled_from([4096, 65536]),
        "chunk_pages": st.sampled_from(PageOrder),
    },
    Ptmalloc: {
        "version": st.sampled_from(GlibcVersion),
        "arena_max": st.sampled_from([0, 1, 2, 3]),
        "arena_test": st.sampled_from([1, 2]),
        "cores": st.sampled_from([1, 3]),
        "growth": _unit,
        "top_pad": _threshold,
        "trim_threshold": _threshold,
        "mmap_threshold": _threshold,
        "mmap_max": st.sampled_from([0, 1, 3]),
        "mxfast": st.sampled_from([0, 50, 160]),
        "tcache_count": st.sampled_from([0, 1, 7]),
        "tcache_max": st.sampled_from([0, 100, 3000, 1 << 20]),
        "thread_blocks": st.sampled_from(ThreadBlocks),
    },
    Pymalloc: {
        "version": st.sampled_from(PythonVersion),
        "below": st.sampled_from(
            [
                "best-fit-ao",
                "ptmalloc",
                "jemalloc",
                "tcmalloc",
                "mimalloc",
                "mimalloc:version=2.0.9",
                "musl",
                "scudo:config=android",
            ]
        ),
        "discard_pools": st.booleans(),
        "arena_skew": st.sampled_from([0, 4096, 12288]),
        "zero_as_one": st.booleans(),
    },
    QuickFit: {
        "small": st.sampled_from([8, 32, 100]),
        "growth": _unit,
        "area": st.sampled_from([100, 4096]),
    },
    Scudo: {
        "config": st.sampled_from(Config),
        "seed": st.sampled_from([0, 1, 12345, (1 << 32) - 1]),
        "release_to_os_interval_ms": st.sampled_from([-1, 0, 1, 5000, 2_000_000]),
        "cache_count_max": st.sampled_from([0, 1, 3, 256]),
        "cache_size_max": st.sampled_from([-1, 0, 8192, 1 << 40]),
        "tsds_count_max": st.sampled_from([1, 3]),
        "quarantine_size_kb": st.sampled_from([0, 10, 100]),
        "thread_local_quarantine_size_kb": st.sampled_from([0, 1, 9, 50]),
        "quarantine_max_chunk_size": st.sampled_from([0, 100, 10_000, 1 << 20]),
        "purge": st.sampled_from(Purge),
        "tick": st.sampled_from([0, 1000, 10**9]),
    },
    Solaris: {"growth": _unit, "ring": st.sampled_from([1, 3, 32])},
    Solaris3x: {
        "cells": st.sampled_from([2, 100]),
        "growth": _unit,
        "minimum_split": st.sampled_from([1, 16]),
    },
    Tcmalloc: {
        "version": st.sampled_from(TcmallocVersion),
        "page": st.sampled_from([4096, 8192]),
        "release_rate": st.sampled_from([0.0, 0.7, 1.0, 1000.0, 1e6]),
        "aggressive_decommit": st.booleans(),
        "max_total_thread_cache_bytes": st.sampled_from([0, 1 << 20, 1 << 40]),
        "transfer_num_obj": st.sampled_from([2, 3, 32]),
        "heap_limit_mb": st.sampled_from([0, 10, 12, 1000]),
        "heap_start": st.sampled_from([0, 0x55555555A000]),
    },
    Vmalloc: {"growth": _unit, "page": st.sampled_from([1, 300, 8192])},
    Tlsf: {"growth": _unit, "minimum_split": st.sampled_from([1, 16])},
}
"""What may be drawn for the parameters of each family, besides those that all have."""

NOT_DRAWN = {
    Jemalloc: {"seed", "dirty_seed", "muzzy_seed", "started_threads"},
    Mimalloc: {"arena_purge_mult"},
}
"""Parameters that only recordings of the real ones are compared with (tests/papers)."""

OLDER = {
    Mimalloc: {
        "version": st.just(MimallocVersion.V2_0_9),
        "reserve_os_memory": st.sampled_from([0, 32 << 20, 96 << 20]),
        "mechanism": st.booleans(),
        "tick": st.sampled_from([0, 10**6, 10**9]),
        "decommit_delay": st.sampled_from([0, 3]),
        "decommit_extend_delay": st.sampled_from([0, 2]),
        "segment_decommit_delay": st.sampled_from([0, 1]),
        "allow_decommit": st.booleans(),
        "eager_commit": st.booleans(),
        "page_reset": st.booleans(),
        "eager_commit_delay": st.sampled_from([0, 2]),
    }
}
"""What may be drawn instead where an older release has options of its own."""


@st.composite
def variants(draw, policy, *, parts=True):
    """Draw a policy with the parameters of `policy` or with others; half have only their own.

    Without `parts` all do.
    """
    family = type(policy.description)
    drawn = st.fixed_dictionaries({}, optional=PARAMETERS.get(family, {}))
    if family in OLDER:
        others = {name: some for name, some in OLDER[family].items() if name != "version"}
        version = {"version": OLDER[family]["version"]}
        drawn = st.one_of(drawn, st.fixed_dictionaries(version, optional=others))
    given = draw(drawn)
    if parts and draw(st.booleans()):
        waits = {} if isinstance(policy.description, Pymalloc) else _COMMON
        given |= draw(st.fixed_dictionaries({}, optional=waits)) | draw(_OVERHEAD)
    drawn = policy.with_parameters(**given)
    if parts and drawn.description.aligning and draw(st.booleans()):
        return drawn.with_parameters(memalign=True)
    return drawn


def policies():
    """Draw any policy of the catalogue, with any parameters."""
    return st.sampled_from(ONLINE).flatmap(lambda name: variants(CATALOGUE[name]))


@dataclass(frozen=True)
class Case:
    """What one simulation is given."""

    trace: Trace
    policy: Policy
    scale: int
    realloc: Realloc
    pages: dict[str, int]
    """What is asked for of resident pages; without any they are not kept track of."""

    @property
    def options(self):
        """What `simulate` is given."""
        return {"scale": self.scale, "realloc": self.realloc, **self.pages}


_pages = st.fixed_dictionaries(
    {
        "resident": st.just(value=True),
        "page": st.sampled_from([4096, 1 << 16, 1 << 21]),
        "writes": st.booleans(),
        "occupied": st.sampled_from([(), (4096,), (1 << 16, 1 << 21)]),
    }
)


def cases(policy=None, *, parts=True):
    """Draw a simulation, of variants of `policy` or of any policy of the catalogue."""
    return st.builds(
        Case,
        trace=traces(aligned=True, threaded=True),
        policy=policies() if policy is None else variants(policy, parts=parts),
        scale=st.sampled_from([1, 16, 3]),
        realloc=st.sampled_from([*Realloc, Realloc.IN_PLACE]),
        pages=st.one_of(st.just({}), _pages),
    ).map(_at_its_scale)


def _at_its_scale(case):
    """Return a case at the one scale that its policy takes, if there is one."""
    return replace(case, scale=case.policy.description.only_scale or case.scale)
