"""Statistics of traces, computed by hand and compared with a simple model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_traces import traces

from simalloc.trace import MAX_SIZE, Op, Trace, open_trace, write_trace
from simalloc.trace._c import Lives as LifeTable
from simalloc.trace.statistics import (
    SHARES,
    LifeReader,
    Peak,
    Quantiles,
    SizeClass,
    Thread,
    describe,
    lives_of,
    neighbour_waits,
    neighbours_of,
    threads_at_once,
)
from simalloc.trace.statistics.quantiles import passes


def made(text, **columns):
    """Return a trace of a text such as `m0:8 r0:16 f0`."""
    events = [event.partition(":") for event in text.split()]
    ops = [{"m": Op.MALLOC, "r": Op.REALLOC, "f": Op.FREE}[event[0]] for event, _, _ in events]
    return Trace.from_events(
        np.array(ops, np.uint8),
        np.array([int(event[1:]) for event, _, _ in events], np.int64),
        np.array([int(size or 0) for _, _, size in events], np.int64),
        **columns,
    )


# Event:      0    1     2     3  4    5    6
#   bytes allocated before it:
#             0    10    30    36 36   36   76
TRACE = made("m0:10 m1:20 r0:6 f1 m2:40 f0 m3:4")


def test_counts_and_averages():
    counts = describe(TRACE).counts
    assert (counts.events, counts.mallocs, counts.frees, counts.reallocs) == (7, 4, 2, 1)
    assert (counts.objects, counts.lives, counts.bytes, counts.average_size) == (4, 5, 80, 16.0)


def test_a_realloc_may_keep_the_object():
    lives = lives_of(TRACE, "same")
    assert lives.died.tolist() == [5, 3, 7, 7]
    assert lives.size.tolist() == [6, 20, 40, 4], "the size asked for last"
    assert lives.lifetime.tolist() == [76, 26, 44, 4]


def test_average_lifetimes():
    lifetimes = describe(TRACE).lifetimes
    assert lifetimes.mean == (30 + 26 + 46 + 44 + 4) / 5
    assert lifetimes.weighted == (30 * 10 + 26 * 20 + 46 * 6 + 44 * 40 + 4 * 4) / 80
    assert lifetimes.mean_objects == (2 + 2 + 2 + 2 + 1) / 5


def test_a_realloc_is_not_two_objects_at_once():
    assert describe(made("m0:8 r0:8 r0:8")).peak_objects == Peak(1, 0)
    assert describe(made("m0:8 r0:9 r0:8")).classes[0].most_live == 1


def test_what_is_never_freed_is_free_at_the_end():
    lives = lives_of(made("m0:8 m1:8 f0 m2:8 m3:16"))
    assert neighbour_waits(lives).tolist() == [24, 0, 0, 0]
    assert neighbours_of(lives, freed_only=True).objects == (24, 24, 24)


def test_shares_are_reached_exactly():
    """Nine of ten objects of one size are 90 percent, and 99 percent need the tenth."""
    frequent = " ".join(f"m{i}:8" for i in range(9))
    assert describe(made(frequent + " m9:16")).sizes.covering == (1, 2, 2, 2)


def test_commonest_sizes_come_first_and_smaller_ones_before_larger():
    sizes = describe(made("m0:9 m1:7 m2:7 m3:9 m4:1 m5:0")).sizes
    assert sizes.commonest == ((7, 2), (9, 2), (0, 1), (1, 1))
    assert (sizes.zero, sizes.largest) == (1, 9)


def test_classes_round_up_to_powers_of_two():
    trace = made("m0:0 m1:16 m2:17 m3:32 f3 m4:33 m5:20")
    classes = describe(trace).classes
    assert [(one.upto, one.objects, one.most_live) for one in classes] == [
        (16, 2, 2),
        (32, 3, 2),
        (64, 1, 1),
    ]
    assert classes[1] == SizeClass(
        upto=32,
        objects=3,
        bytes=69,
        most_live=2,
        never_freed=2,
        mean_lifetime=(102 + 32 + 20) / 3,
        mean_lifetime_objects=(4 + 1 + 1) / 3,
    )


def test_added_bytes_are_not_negative():
    with pytest.raises(ValueError, match="use 0 or more"):
        describe(Trace.from_events([0], [0], [8]), added=-1)


def test_added_bytes_move_classes_and_nothing_else():
    trace = made("m0:8 m1:9")
    assert [one.upto for one in describe(trace, added=8).classes] == [16, 32]
    assert describe(trace, added=8).counts.bytes == 17


@pytest.mark.parametrize(("size", "upto"), [(MAX_SIZE, 1 << 47), ((1 << 46) + 1, 1 << 47)])
def test_the_largest_sizes_have_their_class(size, upto):
    assert describe(made(f"m0:{size}")).classes[0].upto == upto


def test_reallocs():
    reallocs = describe(made("m0:8 m1:8 r0:16 r0:16 r0:4 r1:9 f0 f1")).reallocs
    assert (reallocs.events, reallocs.grew, reallocs.shrank, reallocs.unchanged) == (4, 2, 1, 1)
    assert (reallocs.objects, reallocs.most) == (2, 3)
    assert reallocs.kept_bytes == 8 + 16 + 4 + 8


def test_never_freed():
    left = describe(TRACE).never_freed
    assert (left.objects, left.bytes) == (2, 44)
    assert (left.share_of_objects, left.share_of_bytes) == (2 / 5, 44 / 80)


@pytest.mark.parametrize("part_events", [1, 2, 100])
def test_threads(part_events):
    trace = made("m0:8 m1:16 f0 r1:32 m2:5 f1", thread=[7, 3, 3, 7, 9, 9])
    assert describe(trace, part_events=part_events).threads == (
        Thread(
            thread=3, events=2, objects=1, bytes=16, freed_for_others=1, bytes_freed_for_others=8,
            peak_live_bytes=16, final_live_bytes=0, first_event=1, last_event=2,
        ),
        Thread(
            thread=7, events=2, objects=2, bytes=40, freed_for_others=1, bytes_freed_for_others=16,
            peak_live_bytes=32, final_live_bytes=0, first_event=0, last_event=3,
        ),
        Thread(
            thread=9, events=2, objects=1, bytes=5, freed_for_others=1, bytes_freed_for_others=32,
            peak_live_bytes=5, final_live_bytes=5, first_event=4, last_event=5,
        ),
    )  # fmt: skip
    assert threads_at_once(describe(trace).threads) == Peak(2, 1)
    assert describe(TRACE).threads == ()


def test_the_curve_keeps_the_extremes_of_each_span():
    live = describe(made(" ".join(f"m{i}:{i} f{i}" for i in range(60)))).live
    assert live.last_event == tuple(range(1, 120, 2))
    assert live.most == tuple(range(60))
    assert live.least == (0,) * 60
    assert live.allocated[-1] == sum(range(60))


def test_an_empty_trace_has_statistics_too():
    statistics = describe(made(""))
    assert statistics.peak_bytes == Peak(0, 0)
    assert statistics.lifetimes.mean == statistics.never_freed.share_of_bytes == 0.0
    assert statistics.neighbours.objects == (0, 0, 0)
    assert statistics.sizes.covering == (0, 0, 0, 0)
    assert (statistics.classes, statistics.live.most) == ((), ())


def test_progress_adds_up_to_the_whole():
    steps = []
    describe(TRACE, progress=steps.append)
    assert sum(steps) == pytest.approx(1)


@given(traces(), st.integers(1, 9))
def test_the_statistics_are_the_same_in_pieces_of_any_length(trace, part_events):
    assert describe(trace, part_events=part_events) == describe(trace)


def test_a_file_has_the_statistics_of_its_trace(tmp_path):
    thread = np.arange(7) % 2
    trace = made("m0:10 m1:20 r0:6 f1 m2:40 f0 m3:4", thread=thread, name="small")
    write_trace(trace, tmp_path / "small.npz")
    assert describe(open_trace(tmp_path / "small.npz")) == describe(trace)


def test_lives_are_told_as_they_end():
    reader = LifeReader(TRACE, part_events=4)
    first, second, last, nothing = reader
    assert (first.ended.born.tolist(), first.ended.died.tolist()) == ([0, 1], [2, 3])
    assert (second.ended.born.tolist(), second.ended.died.tolist()) == ([2], [5])
    assert sorted(last.ended.born.tolist()) == [4, 6]
    assert last.ended.died.tolist() == [7, 7]
    assert (last.last, len(last)) == (True, 0)
    assert not len(nothing.ended.born)
    assert second.live.tolist() == [46, 40, 44]
    assert reader.sums() == (150, 10 * 30 + 20 * 26 + 6 * 46 + 40 * 44 + 4 * 4, 9)


def test_a_realloc_may_leave_the_mark_as_it_is():
    trace = made("m0:8 r0:9 r0:7 r0:6 f0", thread=[1, 1, 2, 2, 1])
    first, *_ = LifeReader(trace, "thread")
    assert first.ended.mark.tolist() == [1, 1, 2, 2]
    assert first.ended.marked.tolist() == [0, 0, 2, 2]


def test_lives_take_events_of_a_valid_trace_only():
    output = np.zeros(3, "V64"), np.zeros(9, "V16")
    for op, slot in ((Op.FREE, 0), (Op.REALLOC, 0), (Op.MALLOC, 1)):
        events = np.array([op], np.uint8), np.array([8]), np.array([slot], np.uint32)
        with pytest.raises(ValueError, match="do not form a valid trace"):
            LifeTable(1).enter(*events, None, *output)
    with pytest.raises(ValueError, match="ended needs at least 1 entries, completed at least 3"):
        LifeTable(1).enter(*events, None, np.zeros(1, "V64"), np.zeros(2, "V16"))


@given(
    st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**47)), min_size=1),
    st.integers(1, 5),
)
def test_quantiles_are_those_of_the_sorted_values(pairs, part):
    values, weights = np.array(pairs).T
    quantiles = Quantiles(2**40)
    rounds = 0
    while quantiles.found is None:
        for start in range(0, len(values), part):
            quantiles.add(values[start : start + part], weights[start : start + part])
        quantiles.narrow()
        rounds += 1
    assert rounds == passes(2**40) == 3
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    place = np.searchsorted(reached, np.array(SHARES) * reached[-1])
    if reached[-1]:
        assert quantiles.found == tuple(values[order][place].tolist())


@given(traces(devices=False))
def test_everything_agrees_with_a_plain_model(trace):
    lives, left, waits = [], {}, []
    clock = 0
    live, live_objects = [], []
    events = zip(trace.op, trace.object.tolist(), trace.size.tolist(), strict=True)
    for event, (op, number, size) in enumerate(events):
        if op != Op.MALLOC:
            left.pop(number).update(died=event, death=clock)
        if op != Op.FREE:
            left[number] = {"born": event, "birth": clock, "size": size}
            lives.append(left[number])
            clock += size
        live.append(sum(life["size"] for life in left.values()))
        live_objects.append(len(left))
    for life in left.values():
        life.update(died=len(trace), death=clock)
    for i, life in enumerate(lives):
        around = [lives[j]["death"] for j in (i - 1, i + 1) if 0 <= j < len(lives)]
        waits.append(max([life["death"], *around]) - life["death"])

    table = lives_of(trace)
    for column in ("born", "died", "size", "birth", "death"):
        assert getattr(table, column).tolist() == [life[column] for life in lives]
    assert neighbour_waits(table).tolist() == waits
    assert trace.replayed.live.tolist() == live
    statistics = describe(trace)
    if live:
        assert statistics.peak_bytes == Peak(max(live), live.index(max(live)))
        most = max(live_objects)
        assert statistics.peak_objects == Peak(most, live_objects.index(most))
    waits.sort()
    for percent, wait in zip((900, 990, 999), statistics.neighbours.objects, strict=True):
        reached = [w for i, w in enumerate(waits, 1) if 1000 * i >= percent * len(waits)]
        assert wait == (reached[0] if reached else 0)
