"""Resident pages: their definition, and the agreement of both engines."""

import numpy as np
import pytest

from simalloc.errors import SimallocError
from simalloc.heap import fragmentation, simulate
from simalloc.heap.reference.space import Residence
from simalloc.heap.reference.space.residence import HUGE
from simalloc.heap.running.setting import Setting
from simalloc.heap.watch.each_event import Watched
from simalloc.trace import Op, Trace

ENGINES = ["core", "reference"]


def test_pages_are_resident_from_the_first_byte_until_they_are_given_back_whole():
    pages = Residence(4096)
    pages.touch(4095, 2)
    assert pages.bytes == 8192
    pages.discard(0, 8191)  # the whole first page, but not the whole second
    assert (pages.bytes, pages.runs) == (4096, [1, 2])
    pages.touch(0, 0)
    assert pages.runs == [1, 2]
    pages.touch(0, 40960)
    pages.discard(8192, 4096)
    assert pages.runs == [0, 2, 3, 10]
    pages.touch(8000, 5000)
    assert pages.runs == [0, 10]


def test_a_huge_page_is_resident_as_a_whole_until_a_part_is_given_back():
    pages, whole = Residence(4096), HUGE * 4096
    pages.use_huge_pages(whole, 2 * whole + 4096)
    pages.touch(2 * whole - 1, 2)
    assert pages.runs == [HUGE, 3 * HUGE]
    pages.touch(3 * whole, 1)  # only a page of this one may be huge
    pages.discard(whole, whole)
    pages.discard(2 * whole, whole - 4096)
    assert pages.runs == [3 * HUGE - 1, 3 * HUGE + 1]
    pages.touch(whole, 1)
    pages.discard(2 * whole, whole - 1)
    pages.touch(2 * whole, 1)  # split, although it was wholly purged
    assert pages.bytes == whole + 3 * 4096
    pages.discard(2 * whole, whole)
    pages.touch(2 * whole, 1)
    assert pages.runs == [HUGE, 3 * HUGE + 1]


def test_pages_are_counted_as_if_each_had_a_flag():
    random = np.random.default_rng(1)
    pages, flags = Residence(16), np.zeros(200, bool)
    for _ in range(2000):
        address, size = (int(number) for number in random.integers(0, 1500, 2))
        if random.random() < 0.5:
            pages.touch(address, size)
            flags[address // 16 : -(-(address + size) // 16)] |= size > 0
        else:
            pages.discard(address, size)
            flags[-(-address // 16) : (address + size) // 16] = False
        assert pages.bytes == 16 * np.count_nonzero(flags)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_page_stays_resident_until_the_break_falls(engine):
    sizes = [5000, 100_000, 0, 0]
    trace = Trace.from_events([Op.MALLOC, Op.MALLOC, Op.FREE, Op.FREE], [0, 1, 1, 0], sizes)
    options = {"scale": 1, "engine": engine, "resident": True}
    keeps = simulate(trace, "first-fit-ao", **options)
    assert (keeps.resident.peak_bytes, keeps.resident.final_bytes) == (106_496, 106_496)
    falls = simulate(trace, "first-fit-ao:trim=1", **options)
    assert (falls.resident.peak_bytes, falls.resident.final_bytes) == (106_496, 0)
    silent = simulate(trace, "first-fit-ao", writes=False, **options)
    assert silent.resident.peak_bytes == 0
    headers = simulate(trace, "first-fit-ao:header=8", writes=False, **options)
    assert headers.resident.peak_bytes == 8192  # the pages in which the two blocks begin
    huge = simulate(trace, "first-fit-ao", page=1 << 21, **options)
    assert huge.resident.peak_bytes == 1 << 21


@pytest.mark.parametrize("engine", ENGINES)
def test_measures_can_be_asked_of_resident_bytes(engine):
    trace = Trace.from_events([Op.MALLOC, Op.FREE], [0, 0], [4096, 0])
    run = simulate(trace, "first-fit-ao:growth=64K", scale=1, engine=engine, resident=True)
    assert fragmentation(run, of="resident").peak_to_peak == 0
    assert fragmentation(run).peak_to_peak == 15
    plain = simulate(trace, "first-fit-ao", engine=engine)
    with pytest.raises(SimallocError, match="has not measured resident bytes"):
        fragmentation(plain, of="resident")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_page_is_occupied_as_long_as_one_live_byte_is_in_it(engine):
    trace = Trace.from_events(
        [Op.MALLOC, Op.MALLOC, Op.MALLOC, Op.FREE, Op.FREE],
        [0, 1, 2, 0, 2],
        [4000, 8000, 10_000_000, 0, 0],
    )
    sizes = (4096, 1 << 21)
    run = simulate(trace, "first-fit-ao", scale=1, engine=engine, occupied=sizes)
    small, large = (run.occupied[size] for size in sizes)
    # Objects occupy bytes 0 to 4000, 4000 to 12000 and 12000 to 10012000. The second object
    # remains.
    assert small.peak_bytes == 4096 * 2445
    assert small.final_bytes == 4096 * 3
    assert (large.peak_bytes, large.final_bytes) == (5 << 21, 1 << 21)
    assert small.mean_bytes == pytest.approx(4096 * (1 + 3 + 2445 + 2445 + 3) / 5)


@pytest.mark.parametrize("page", [0, 512, 3000, 1 << 31])
def test_a_page_is_a_power_of_two(page):
    trace = Trace.from_events([], [], [])
    with pytest.raises(SimallocError, match="a power of two"):
        simulate(trace, "first-fit-ao", page=page, resident=True)


@pytest.mark.parametrize("name", ["first-fit-ao", "ptmalloc", "phk", "best-fit-lifo:trim=100"])
def test_both_engines_see_the_same_after_each_event(name):
    random = np.random.default_rng(2)
    size = random.integers(0, 300_000, 300)
    op = np.repeat([Op.MALLOC, Op.FREE], 300)
    number = np.concatenate([np.arange(300), random.permutation(300)])
    trace = Trace.from_events(op, number, np.append(size, np.zeros(300, int)))
    core, reference = (
        list(Watched(Setting.of(trace, name, resident=True, engine=engine)).sights())
        for engine in ENGINES
    )
    assert len(core) == len(reference) == 1
    for some, others in zip(core[0], reference[0], strict=True):
        np.testing.assert_array_equal(some, others)
    assert core[0].resident.max() > 0


def test_resident_bytes_are_the_same_with_the_allocators_figures_and_without():
    random = np.random.default_rng(4)
    size = random.choice([10, 3000, 128 << 10, 200_000, 1_000_003, 40 << 20], 200)
    op = np.repeat([Op.MALLOC, Op.FREE], 200)
    number = np.concatenate([np.arange(200), random.permutation(200)])
    trace = Trace.from_events(op, number, np.append(size, np.zeros(200, int)))
    setting = Setting.of(trace, "ptmalloc:trim_threshold=64K", resident=True)
    watched = Watched(setting)
    (sight,) = watched.sights()
    without = Watched(setting).resident_after(np.arange(1, len(trace) + 1))
    np.testing.assert_array_equal(without, sight.resident)
    total = sight.figures[:, watched.names.index("resident_total")]
    np.testing.assert_array_equal(total, sight.resident)
    assert sight.resident.max() > 1 << 30


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("policy", ["ptmalloc", "jemalloc", "musl", "best-fit-ao"])
def test_what_is_never_written_of_an_object_is_not_resident(policy, engine):
    op, number, size = [Op.MALLOC, Op.CALLOC, Op.FREE], [0, 1, 0], [3_000_000, 50, 0]
    whole, some = (
        simulate(
            Trace.from_events(op, number, size, unwritten=[unwritten, 0, 0]),
            policy,
            engine=engine,
            scale=1,
            resident=True,
        ).resident
        for unwritten in (0, 2_900_000)
    )
    assert whole.peak_bytes - some.peak_bytes == pytest.approx(2_900_000, abs=8192)


def test_a_program_that_writes_nothing_has_nothing_that_is_unwritten():
    trace = Trace.from_events([Op.MALLOC], [0], [3_000_000], unwritten=[2_900_000])
    unwritten, written = (
        simulate(trace, "ptmalloc", resident=True, writes=writes).resident.peak_bytes
        for writes in (False, True)
    )
    assert unwritten <= 8192
    assert written == pytest.approx(100_000, abs=8192)
