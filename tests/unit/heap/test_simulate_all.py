"""simulate_all(): many policies side by side, over a trace in memory or in a file."""

import dataclasses
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from simalloc.errors import PolicyError, SimallocError
from simalloc.heap import simulate, simulate_all
from simalloc.policy import HEAP_POLICIES, UserPolicy
from simalloc.trace import Op, Trace, open_trace, write_trace

SIZES = np.random.default_rng(3).integers(1, 400, 1500)
TRACE = Trace.from_events(
    np.r_[np.zeros(1000), np.ones(900), np.zeros(500), np.full(50, Op.REALLOC)].astype(np.uint8),
    np.r_[0:1000, 0:1000:2, 1:801:2, 1000:1500, 1000:1050],
    np.r_[SIZES[:1000], np.zeros(900, np.int64), SIZES[1000:], SIZES[:50]],
    name="made",
)


@pytest.fixture(autouse=True)
def short_strides(monkeypatch):
    monkeypatch.setattr(sys.modules["simalloc.heap.running.strides"], "STRIDE", 100)


@pytest.fixture
def file(tmp_path):
    write_trace(TRACE, tmp_path / "made.npz")
    return open_trace(tmp_path / "made.npz")


def test_a_file_gives_what_the_trace_in_memory_gives(file):
    for addresses in (False, True):
        kept = simulate(TRACE, "best-fit-ao", addresses=addresses)
        streamed = simulate(file, "best-fit-ao", addresses=addresses)
        assert streamed == kept
        assert np.array_equal(streamed.addresses, kept.addresses)
    reference = simulate(file, "best-fit-ao", engine="reference")
    assert reference.counters == kept.counters


def test_addresses_are_kept_side_by_side_too(file):
    policies = ["best-fit-ao", "abt-ff", "best-possible"]
    for run in simulate_all(file, policies, addresses=True):
        alone = simulate(TRACE, run.policy, addresses=True)
        assert np.array_equal(run.addresses, alone.addresses)
    assert all(run.addresses is None for run in simulate_all(file, policies))


@pytest.mark.parametrize("policy", ["ptmalloc", "jemalloc"])
def test_a_stride_of_the_first_thread_alone_is_not_the_thread_before_s(policy):
    thread = (np.arange(len(TRACE)) < 300).astype(np.uint32)
    threaded = dataclasses.replace(TRACE, thread=thread)
    core, reference = (simulate(threaded, policy, engine=each) for each in ("core", "reference"))
    assert core.counters == reference.counters


def test_side_by_side_is_one_by_one(file):
    alone = [simulate(TRACE, one, scale=4, realloc="move") for one in HEAP_POLICIES.values()]
    for source in (TRACE, file):
        together = simulate_all(source, list(HEAP_POLICIES), scale=4, realloc="move")
        assert together == alone
        for own, other in zip(together, alone, strict=True):
            for part in dataclasses.fields(own.timeline):
                np.testing.assert_array_equal(
                    getattr(own.timeline, part.name), getattr(other.timeline, part.name)
                )


def test_nothing_to_do(file):
    assert simulate_all(file, []) == []
    assert simulate_all(Trace.from_events([], [], []), ["best-fit-ao"])[0].events == 0


def test_the_file_is_read_once(file, monkeypatch):
    opened = []
    read = type(file).replayed_parts
    monkeypatch.setattr(
        type(file),
        "replayed_parts",
        lambda self, columns: opened.append(self) or read(self, columns),
    )
    simulate_all(file, list(HEAP_POLICIES))
    assert opened == [file]


def test_progress_adds_up(file):
    advances = []
    simulate_all(file, ["best-fit-ao", "first-fit-ao"], progress=advances.append)
    assert sum(advances) == 2 * len(TRACE)
    assert max(advances) == 100


def test_an_interruption_stops_every_policy(file):
    advances = []

    def interrupt(events):
        advances.append(events)
        if len(advances) == 5:
            raise KeyboardInterrupt

    threads = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        simulate_all(file, list(HEAP_POLICIES), progress=interrupt)
    assert len(advances) < 2 * len(HEAP_POLICIES)
    assert set(threading.enumerate()) <= threads


def test_an_interruption_while_threads_begin_stops_every_policy(file, monkeypatch):
    submit, advances = ThreadPoolExecutor.submit, []

    def interrupted(*arguments):
        submit(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulate_all(file, list(HEAP_POLICIES), progress=advances.append)
    assert len(advances) < 2 * len(HEAP_POLICIES)


def test_the_first_failure_stops_every_policy():
    huge = Trace.from_events([Op.MALLOC] * 300, range(300), [1 << 47] * 300)
    with pytest.raises(SimallocError, match=r"exceed 2\*\*62"):
        simulate_all(huge, ["best-fit-ao", "first-fit-ao"], scale=4096)
    with pytest.raises(PolicyError):
        simulate_all(TRACE, ["best-fit-ao", "worst-fit"])
    with pytest.raises(SimallocError, match="scale"):
        simulate_all(TRACE, ["best-fit-ao"], scale=0)


class Fits(UserPolicy):
    order = "ao"

    def malloc(self, heap, size):
        return heap.split(heap.best_fit(size, self.order) or heap.grow(size, 4096), size)

    def free(self, heap, block):
        heap.insert(heap.merge(block))


def test_policies_in_python_go_beside_those_in_c(file):
    own = [Fits, Fits(order="fifo"), Fits(order="lifo")]
    for source in (TRACE, file):
        runs = simulate_all(source, [*own, "best-fit-ao", "best-fit-fifo", "best-fit-lifo"])
        for one, other in zip(runs[:3], runs[3:], strict=True):
            assert one.counters == other.counters
            assert one.peak_heap_bytes == other.peak_heap_bytes


def test_a_policy_in_python_that_fails_stops_all(file):
    class Fails(Fits):
        def free(self, heap, block):
            raise ValueError(heap.event, block.size)

    with pytest.raises(PolicyError, match=r"event 1000 .*ValueError"):
        simulate_all(file, [Fits, Fails, "best-fit-ao"])
