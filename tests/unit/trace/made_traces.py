"""Traces for tests: Hypothesis makes small ones, `random_events` large ones."""

import numpy as np
from hypothesis import strategies as st

from simalloc.trace import MAX_SIZE, Op, Trace

SIZES = st.one_of(st.integers(0, 64), st.integers(0, 1 << 40), st.just(MAX_SIZE))


@st.composite
def traces(draw, max_events=40, *, devices=True):
    """Draw a valid trace with objects of every age, and sometimes with optional columns.

    Without `devices`, its events are only mallocs, frees and reallocs.
    """
    known = tuple(Op) if devices else (Op.MALLOC, Op.FREE, Op.REALLOC)
    new = st.sampled_from([op for op in known if op in {Op.MALLOC, Op.CALLOC}])
    ops, keys, sizes, live = [], [], [], []
    for key in range(draw(st.integers(0, max_events))):
        op = draw(st.sampled_from(known) if live else new)
        ops.append(op)
        sizes.append(draw(SIZES) if op in {Op.MALLOC, Op.CALLOC, Op.REALLOC} else 0)
        if op in {Op.MALLOC, Op.CALLOC}:
            live.append(key)
            keys.append(key)
        elif op in {Op.EMPTY, Op.THREAD_END}:
            keys.append(-1)
        else:
            place = draw(st.integers(0, len(live) - 1))
            keys.append(live.pop(place) if op is Op.FREE else live[place])
    optional = {}
    if draw(st.booleans()):
        count = len(ops)
        optional = {
            "alignment": draw(_column(count, st.sampled_from([0, 16, 4096]))),
            "thread": draw(_column(count, st.integers(0, 2**32 - 1))),
            "time": draw(_column(count, st.integers(0, 2**63 - 1))),
            "site": None,
        }
    if devices and draw(st.booleans()):
        for name in ("stream", "pool"):
            optional[name] = draw(_column(len(ops), st.integers(0, 2)))
    return Trace.from_events(
        np.array(ops, np.uint8),
        np.array(keys, np.int64),
        np.array(sizes, np.int64),
        name=draw(st.text(max_size=8)),
        provenance={"seed": 1},
        **optional,
    )


def _column(length, values):
    return st.lists(values, min_size=length, max_size=length).map(
        lambda drawn: np.array(drawn, np.int64)
    )


def random_events(events, live, seed=0):
    """Return columns op, key, size: a ramp to `live` objects, then one free per allocation."""
    rng = np.random.default_rng(seed)
    op = np.zeros(events, np.uint8)
    key = np.arange(events, dtype=np.int64)
    op[live::2] = Op.FREE
    victims = (key[live::2] - live) // 2  # objects die in the order of allocation
    key[live::2] = np.where(victims < live, victims, live + 2 * (victims - live) + 1)
    size = np.where(op == Op.MALLOC, rng.geometric(1 / 50, events), 0)
    return op, key, size.astype(np.int64)


def same(one, other):
    """Return whether two traces are equal in every column, name and provenance."""
    return (
        one.name == other.name
        and one.provenance == other.provenance
        and (one.slots, one.objects) == (other.slots, other.objects)
        and one.columns.keys() == other.columns.keys()
        and all(
            getattr(one, column).dtype == getattr(other, column).dtype
            and np.array_equal(getattr(one, column), getattr(other, column))
            for column in ("op", "object", "size", "slot", *one.columns)
        )
    )
