"""Alterations of traces."""

from experiments.johnstone_wilson.alterations import NewestFirst, Objects, Without
from simalloc.trace import Op, Trace

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC


def made(*events):
    op, keys, size = zip(*events, strict=True)
    return Trace.from_events(op, keys, size, name="made")


def events(trace):
    return list(zip(trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), strict=True))


def test_objects_in_front_live_throughout():
    trace = Objects((8192, 10))(made((M, 0, 5), (F, 0, 0)))
    assert events(trace) == [(M, 0, 8192), (M, 1, 10), (M, 2, 5), (F, 2, 0)]
    assert trace.name == "made"


def test_runs_of_rising_frees_are_reversed():
    mallocs = [(M, key, 8) for key in range(7)]
    frees = [(F, key, 0) for key in (1, 3, 4, 2, 6)]
    trace = NewestFirst()(made(*mallocs, *frees, (M, 7, 8), (F, 0, 0), (F, 5, 0), (F, 7, 0)))
    freed = [key for op, key, _ in events(trace) if op == F]
    assert freed == [4, 3, 1, 6, 2, 7, 5, 0]
    assert events(trace)[:7] == mallocs
    assert events(trace)[12] == (M, 7, 8)


def test_reversing_leaves_single_frees_alone():
    trace = made((M, 0, 8), (F, 0, 0), (M, 1, 8), (M, 2, 4), (F, 2, 0), (F, 1, 0))
    assert events(NewestFirst()(trace)) == events(trace)


def test_objects_that_ever_grow_too_large_are_left_out():
    trace = made((M, 0, 100), (M, 1, 10), (R, 1, 101), (M, 2, 100), (F, 1, 0), (F, 0, 0))
    assert events(Without(100)(trace)) == [(M, 0, 100), (M, 1, 100), (F, 0, 0)]
