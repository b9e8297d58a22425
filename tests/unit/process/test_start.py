"""A model that starts from a process's heap continues like the process."""

import platform
from collections import defaultdict
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from process_programs import running

from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.heap.reference.replay import in_steps
from simalloc.heap.reference.space import State
from simalloc.heap.running.setting import Setting
from simalloc.heap.start import (
    BIN,
    CACHE,
    CACHED,
    FAST_LIST,
    FREE,
    LIVE,
    MAPPED,
    TABLE,
    TOP,
    UNSORTED_LIST,
    WASTE,
    Start,
)
from simalloc.policy import find_policy
from simalloc.process import LiveProcess, take_snapshot
from simalloc.process.heap_state import COLUMNS
from simalloc.process.saved import load_snapshot, save_snapshot
from simalloc.trace import Trace
from simalloc.trace.events import Op

OPS = {"m": Op.MALLOC, "c": Op.CALLOC, "r": Op.REALLOC, "l": Op.MALLOC, "f": Op.FREE}
HEAP = 64 << 20
FIRST = 9000
"""Number of calls before the snapshot."""
KINDS = {
    State.ALLOCATED: LIVE,
    State.TABLE: LIVE,
    State.CACHED: CACHED,
    State.FREE: FREE,
    State.WASTE: WASTE,
}


def version():
    """Return the version of this process's glibc, or skip the test if no model has this version."""
    found = platform.libc_ver()[1]
    if found not in {"2.36", "2.41", "2.43", "2.44"}:
        pytest.skip(f"no model of glibc {found}")
    return found


def policy():
    return f"ptmalloc:version={version()}"


def trace_of(calls, live=(), sizes=()):
    """Return the trace of calls, after an allocation of each live block, and the addresses."""
    known = {address: number for number, address in enumerate(live)}
    rows = [(Op.MALLOC, number, size, 0, 1) for number, size in enumerate(sizes)]
    objects = len(rows)
    for kind, thread, old, size, alignment, new in calls:
        number = known.pop(int(old, 16)) if kind in "rf" else objects
        objects += kind not in "rf"
        rows.append((OPS[kind], number, int(size), int(thread), int(alignment)))
        if kind != "f":
            known[int(new, 16)] = number
    op, number, size, thread, alignment = np.array(rows).T
    several = {"thread": thread} if thread.any() else {}
    return Trace.from_events(op, number, size, alignment=alignment, **several)


class Continued:
    """A process, its snapshots, and the traces of its calls."""

    def __init__(self, program, threads):
        with running(program, str(threads)) as target:
            self.snapshot = take_snapshot(LiveProcess(target.process))
            target.child.stdin.write("\n")
            target.child.stdin.flush()
            calls = [line.split() for line in iter(target.child.stdout.readline, "done\n")]
            self.after = take_snapshot(LiveProcess(target.process))
        self.start = Start.of(self.snapshot)
        live = np.isin(self.snapshot.blocks.state, (0, 5))
        addresses = np.sort(self.snapshot.blocks.address[live]).tolist()
        self.whole = trace_of(calls)
        self.trace = trace_of(calls[FIRST:], addresses, self.start.live_sizes.tolist())
        self.new = addresses + [int(call[5], 16) for call in calls[FIRST:]]

    def segment(self, real):
        """Return the heap number of an address: 0 for the break, None for a mapped block."""
        segments = self.snapshot.state.segments
        if segments[0, 1] <= real < segments[0, 1] + (1 << 32):
            return 0
        heap = real & -HEAP
        return heap if heap in set(segments[1:, 1].tolist()) else None


@pytest.fixture(scope="module", params=[1, 4])
def continued(request, compiled):
    return Continued(compiled("continued"), request.param)


def test_requests_after_a_snapshot_go_where_the_process_places_them(continued):
    run = simulate(continued.trace, policy(), start=continued.start, addresses=True)
    bases = {0: int(continued.snapshot.state.segments[0, 1])}
    known = 0
    for event, (real, model) in enumerate(zip(continued.new, run.addresses.tolist(), strict=True)):
        segment = continued.segment(real) if real else None
        if segment is not None:
            known += 1
            assert real - 16 - model == bases.setdefault(segment, real - 16 - model), event
    assert len(bases) == len(continued.start.segment)
    assert known > 0.9 * np.count_nonzero(continued.new)


def test_engines_go_on_alike(continued):
    first, *others = [
        simulate(continued.trace, policy(), start=continued.start, addresses=True, resident=True,
                 engine=engine)
        for engine in ("core", "core-portable", "reference")
    ]  # fmt: skip
    for run in others:
        assert np.array_equal(run.addresses, first.addresses)
        assert run.mapped.final_bytes == first.mapped.final_bytes
        assert run.resident.final_bytes == first.resident.final_bytes


def test_the_heap_ends_as_that_of_the_process(continued):
    run = simulate(continued.trace, policy(), start=continued.start, resident=True)
    parts = continued.after.parts
    assert run.mapped.final_bytes == sum(part.bytes for part in parts)
    assert run.resident.final_bytes == sum(part.resident for part in parts)


def lists_of(start):
    """Return the locations of each list's blocks, in the order in which they entered."""
    found = defaultdict(list)
    for kind, owner, block in start.entry.tolist():
        segment, offset, size, _ = start.block[block].tolist()
        found[kind, owner, 0 if kind == UNSORTED_LIST else size].append((segment, offset))
    return dict(found)


def blocks_of(start):
    """Return the segments' blocks by location; the program's and malloc's own are one kind."""
    inside = start.block[start.block[:, 0] != MAPPED].copy()
    inside[inside[:, 3] == TABLE, 3] = LIVE
    return sorted(inside[inside[:, 3] != TOP].tolist())


def model_lists(heap, bases):
    """Return the lists of the reference's heap, in the format of `lists_of`."""
    found = {}

    def note(key, addresses):
        if addresses:
            found[key] = [place_of(at, bases) for at in addresses]

    for arena in heap._arenas.all:
        note((UNSORTED_LIST, arena.number, 0), list(arena.unsorted))
        for size, blocks in arena.fast.items():
            note((FAST_LIST, arena.number, size), blocks)
        for size, blocks in arena._small.items():
            note((BIN, arena.number, size), list(blocks))
        for size in {heap.block_size(at) for at in arena._large}:
            note((BIN, arena.number, size), arena._large.of_size(size))
    for number, thread in heap._threads.items():
        for size in {heap.block_size(at) for at in thread.cache or ()}:
            cached = [at for at in thread.cache if heap.block_size(at) == size]
            note((CACHE, number, size), cached[::-1])
    return found


def place_of(address, bases):
    """Return the segment number of an address, and the offset in the segment."""
    number = max((n for n, base in enumerate(bases) if base <= address), key=lambda n: bases[n])
    return number, address - bases[number]


@pytest.mark.parametrize("again", [False, True])
def test_lists_and_blocks_of_the_model_are_those_of_the_process(continued, again):
    """The model starts empty and is compared at the snapshot, or starts there and ends later."""
    if again:
        setting = Setting.of(continued.trace, policy(), start=continued.start)
        last, start = len(continued.trace) - 1, Start.of(continued.after)
    else:
        setting = Setting.of(continued.whole, policy())
        last, start = FIRST - 1, continued.start
    heap, _, _ = next(islice(in_steps(setting), last, None))
    bases = [0] + [one.base for arena in heap._arenas.all for one in arena.heaps]
    assert model_lists(heap, bases) == lists_of(start)
    blocks = [
        [*place_of(at, bases), size, KINDS[heap.blocks.state[at]]]
        for at, size in heap.blocks.size.items()
        if heap.blocks.state[at] in KINDS and at not in heap._mapped
    ]
    tops = {arena.top for arena in heap._arenas.all}
    tops = {place_of(top, bases) for top in tops}
    assert sorted(one for one in blocks if tuple(one[:2]) not in tops) == blocks_of(start)


def test_a_trace_gets_the_live_blocks_in_front_once(continued):
    later = trace_of([["m", "0", "0", "100", "1", "0x10"], ["f", "0", "0x10", "0", "0", "0"]])
    trace = continued.start.before(later)
    assert len(trace) == continued.start.live_blocks + 2
    assert continued.start.before(trace) is trace
    run = simulate(trace, policy(), start=continued.start, checked=True)
    assert run.mapped.final_bytes == sum(part.bytes for part in continued.snapshot.parts)
    assert simulate(trace, "jemalloc", start=continued.start).objects == trace.objects


@pytest.mark.parametrize("engine", ["core", "reference"])
def test_a_trace_without_the_live_blocks_is_refused(continued, engine):
    trace = trace_of([["m", "0", "0", "1", "1", "0x10"], ["f", "0", "0x10", "0", "0", "0"]])
    with pytest.raises(SimallocError, match="does not begin with one allocation for each live"):
        simulate(trace, policy(), start=continued.start, engine=engine)


@pytest.mark.parametrize(
    ("parameters", "options", "message"),
    [
        ({"capacity": 4096}, {}, "capacity is 4,096 bytes"),
        ({"mechanism": "off"}, {}, "takes mechanism=on"),
        ({}, {"scale": 16}, "takes scale 1"),
    ],
)
def test_what_no_heap_can_begin_with_is_an_error(continued, parameters, options, message):
    text = "".join(f",{name}={value}" for name, value in parameters.items())
    with pytest.raises(SimallocError, match=message):
        simulate(continued.trace, policy() + text, start=continued.start, **options)


def test_another_glibc_is_an_error(continued):
    other = "2.44" if continued.start.has_fast_lists else "2.36"
    with pytest.raises(SimallocError, match="does not use glibc"):
        simulate(continued.trace, f"ptmalloc:version={other}", start=continued.start)


def test_a_saved_heap_is_the_same_and_a_damaged_one_an_error(continued, tmp_path):
    path = tmp_path / "heap.npz"
    with path.open("wb") as stream:
        save_snapshot(continued.snapshot, stream)
    loaded = load_snapshot(path)
    run = simulate(continued.trace, policy(), start=Start.of(loaded), addresses=True)
    again = simulate(continued.trace, policy(), start=continued.start, addresses=True)
    assert np.array_equal(run.addresses, again.addresses)
    rng = np.random.default_rng(1)
    for _ in range(100):
        name = rng.choice(COLUMNS)
        column = getattr(loaded.state, name).copy()
        if not column.size:
            continue
        column.reshape(-1)[rng.integers(column.size)] = rng.integers(-(1 << 40), 1 << 40)
        changed = replace(loaded, state=replace(loaded.state, **{name: column}))
        try:
            simulate(continued.trace, policy(), start=Start.of(changed))
        except SimallocError:
            continue


@pytest.mark.parametrize("run", [(-1, -1, 0, 8), (-1, 0, -8, 8), (-1, 0, 8, 0), (0, 0, 0, 8)])
def test_resident_runs_outside_of_segments_are_an_error(continued, run):
    assert continued.start.block[0, 0] != MAPPED
    start = replace(continued.start, resident=np.array([run]))
    with pytest.raises(SimallocError, match="do not agree"):
        start.check()


def test_a_setting_given_by_hand_is_used_and_others_are_those_of_the_process(continued):
    given = continued.start.tunables(find_policy(policy() + ",trim_threshold=64K").description)
    assert "trim_threshold" not in given
    assert given["adjusts"] == 0
    found = continued.start.tunables(find_policy(policy()).description)
    assert found["mmap_threshold"] == continued.start.parameters["mmap_threshold"] > 128 << 10
