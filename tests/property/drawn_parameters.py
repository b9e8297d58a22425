"""Values to draw for the parameters of each family when engines are compared."""

from enum import Enum

from hypothesis import strategies as st

from simalloc.errors import PolicyError
from simalloc.policy import HEAP_POLICIES
from simalloc.policy.families.address_trees import AddressTrees, TreeFit
from simalloc.policy.families.base import HeapFamily, parameter_ranges, parameter_types
from simalloc.policy.families.binned_fit import BinnedFit, LastRemainder
from simalloc.policy.families.bw_gc import BwGc
from simalloc.policy.families.gnu import Gnu
from simalloc.policy.families.jemalloc import Jemalloc, Version
from simalloc.policy.families.mimalloc import Mimalloc, MimallocVersion, ReclaimOnFree
from simalloc.policy.families.musl import Musl
from simalloc.policy.families.phk import PageOrder, Phk
from simalloc.policy.families.ptmalloc import GlibcVersion, Ptmalloc, ThreadBlocks
from simalloc.policy.families.pymalloc import Pymalloc, PythonVersion
from simalloc.policy.families.quick_fit import QuickFit
from simalloc.policy.families.scudo import Config, Purge, Scudo
from simalloc.policy.families.segregated_fit import ListFit, ListOrder, SegregatedFit
from simalloc.policy.families.sequential_fit import SequentialFit
from simalloc.policy.families.solaris import Solaris
from simalloc.policy.families.solaris_3x import Solaris3x
from simalloc.policy.families.tcmalloc import Tcmalloc, TcmallocVersion
from simalloc.policy.families.tlsf import Tlsf
from simalloc.policy.parts import Coalescing, CoalescingTime, Spacing

_unit = st.sampled_from([1, 16, 17, 48, 64, 100, 256, 1000, 4096, 8192, 65536])

COMMON = {
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
OVERHEAD = st.one_of(
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
    SequentialFit: {**_SPLITTING, "coalescing": st.sampled_from(CoalescingTime)},
    BinnedFit: {
        **_SPLITTING,
        "small": st.sampled_from([1, 32, 64, 160, 504, 4096, 1 << 40]),
        "last_remainder": st.sampled_from(LastRemainder),
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
        "classes": st.sampled_from([1, 2, 8, 9, 1024]),
        "coalescing": st.sampled_from([Coalescing.NONE, Coalescing.ALL]),
    },
    Gnu: {
        "page": st.sampled_from([1024, 4096, 1 << 16]),
        "returned": st.sampled_from([100, 8192, 32768]),
    },
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
}
"""Values to draw for a family's parameters; other parameters get any value of their type."""

NOT_DRAWN = {
    Jemalloc: {"seed", "dirty_seed", "muzzy_seed", "started_threads"},
    Mimalloc: {"arena_purge_mult"},
    Tlsf: {"capacity", "pool2"},
}
"""Parameters that are compared only with recordings of the real allocators (tests/truth)."""

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
"""Values to draw instead if an older release has its own options."""


_NUMBERS = [0, 1, 7, 16, 17, 24, 48, 64, 100, 256, 384, 1000, 3000, 4096, 6144, 8192, 65536]


MALLOCS = (Jemalloc, Mimalloc, Musl, Ptmalloc, Pymalloc, Scudo, Tcmalloc)
"""Families whose parameters are drawn over their whole ranges."""

HELD = {}
"""Parameters of these families for which only the listed values are drawn."""


def drawn_parameters(family):
    """Return the values to draw for each parameter of a family, except parameters of all heaps.

    An option in which rows of the catalogue differ is drawn only if it is in `PARAMETERS`, because
    the test of a row uses the row's own value.
    """
    given = PARAMETERS.get(family, {})
    left_out = {
        *given,
        *OLDER.get(family, ()),
        *NOT_DRAWN.get(family, ()),
        *_distinguishing(family),
    }
    types = parameter_types(family)
    own = [name for name in types if name not in {*HeapFamily.__dataclass_fields__, *left_out}]
    drawn = {name: _of_type(family, name, types[name]) for name in own} | given
    if family in MALLOCS:
        drawn |= {name: _or_any(family, name, values) for name, values in drawn.items()}
    return drawn


def whole_range(numbers):
    """Return numbers of a range: both ends and their neighbours, and numbers of all magnitudes."""
    low, high, multiple = numbers.low, numbers.high, numbers.multiple
    ends = {low, low + multiple, high - multiple, high}
    sizes = st.integers(0, (high - low).bit_length()).flatmap(
        lambda bits: st.integers((1 << bits) >> 1, min((1 << bits) - 1, high - low))
    )
    spread = st.one_of(
        st.sampled_from(sorted(ends)),
        sizes.map(lambda number: low + number - number % multiple),
        st.integers(0, high.bit_length()).map(lambda bits: multiple << bits),
    )
    return spread.filter(lambda number: _takes(numbers, number))


def _or_any(family, name, values):
    """Return the listed values of a parameter, and any other value if the parameter has a range."""
    numbers = parameter_ranges(family).get(name)
    if numbers is None or name in HELD.get(family, ()):
        return values
    return st.one_of(values, whole_range(numbers))


def _distinguishing(family):
    """Return the parameters in which rows of the catalogue differ."""
    rows = [row.description for row in HEAP_POLICIES.values() if type(row.description) is family]
    return {name for name in parameter_types(family) if len({getattr(r, name) for r in rows}) > 1}


def _of_type(family, name, kind):
    if kind is bool:
        return st.booleans()
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    numbers = [n for n in _NUMBERS if _takes(parameter_ranges(family).get(name), n)]
    assert numbers, f"PARAMETERS of {__file__} has to say what is drawn for {name} of {family}"
    return st.sampled_from(numbers)


def _takes(numbers, value):
    try:
        numbers.check("", value)
    except (AttributeError, PolicyError):
        return False
    return True
