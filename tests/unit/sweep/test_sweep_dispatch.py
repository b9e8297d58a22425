"""Results of a batch that returns from a cluster."""

from concurrent.futures import CancelledError
from types import SimpleNamespace

import pytest

from simalloc.errors import SimallocError
from simalloc.sweep import Observer

pytest.importorskip("distributed")

from distributed import KilledWorker

from simalloc.sweep import cluster
from simalloc.sweep.source import FileSource
from simalloc.sweep.worker import TraceCache, carry_out_batch
from simalloc.trace import Trace, TraceFile
from simalloc.version import code_version


class Client:
    """A client that accepts batches and never works on them."""

    loop = None

    def __init__(self):
        self.sent = []

    def submit(self, *arguments, **_):
        self.sent.append(arguments)
        return SimpleNamespace(number=len(self.sent))

    def nthreads(self):
        return {"a": 2}


class Future(SimpleNamespace):
    __hash__ = object.__hash__


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch):
    monkeypatch.setattr("simalloc.sweep.worker.CACHE", TraceCache(1 << 30))


@pytest.fixture
def dispatch(monkeypatch, plan):
    returned = SimpleNamespace(add=lambda _: None)
    monkeypatch.setattr(cluster, "as_completed", lambda **_: returned)
    monkeypatch.setattr(
        Client, "submit", lambda self, *given, **_: self.sent.append(given) or Future()
    )
    made = cluster._Dispatch(Client(), lambda _: True, Observer())
    made._send(plan.tasks()[:2])
    return made


def come_back(dispatch, result):
    [future] = dispatch._under_way
    return dispatch._take(future, result)


def test_outcomes_are_taken_whatever_became_of_the_worker(dispatch, plan):
    tasks = plan.tasks()[:2]
    outcomes = carry_out_batch(tasks, code_version())
    assert come_back(dispatch, outcomes) == outcomes
    assert dispatch._under_way == {}


def test_a_batch_that_kills_workers_is_taken_apart(dispatch, plan):
    killed = (KilledWorker, KilledWorker("batch", SimpleNamespace(address="tcp://w"), 3), None)
    assert come_back(dispatch, killed) == []
    alone = list(dispatch._under_way.items())
    assert [list(batch) for _, batch in alone] == [[task] for task in plan.tasks()[:2]]
    for future, [task] in alone:
        [outcome] = dispatch._take(future, killed)
        assert outcome.key == task.key
        assert outcome.row["error"].startswith("KilledWorker: ")


def test_an_error_of_the_worker_is_the_error_of_the_runs(dispatch):
    outcomes = come_back(dispatch, (MemoryError, MemoryError("too much"), None))
    assert [outcome.row["error"] for outcome in outcomes] == ["MemoryError: too much"] * 2


def test_a_cancelled_batch_ends_the_sweep(dispatch):
    with pytest.raises(SimallocError, match="scheduler has ended"):
        come_back(dispatch, CancelledError())


def test_a_trace_out_of_reach_is_sent_once(dispatch, plan, traces):
    assert come_back(dispatch, None) == []
    shared = dispatch._packed[plan.sources[0].sha256]
    functions = [arguments[0] for arguments in dispatch._client.sent]
    assert functions == [carry_out_batch, bytes, carry_out_batch]
    assert dispatch._client.sent[-1][-1] is shared
    assert dispatch._client.sent[1][1] == (traces / "small-1.npz").read_bytes()


def test_a_trace_that_is_gone_here_too_fails_its_runs(dispatch, traces):
    (traces / "small-1.npz").unlink()
    outcomes = come_back(dispatch, None)
    assert all("No such file" in outcome.row["error"] for outcome in outcomes)


def test_batches_are_of_one_trace_and_for_all_threads(plan):
    batches = list(cluster._batches(plan.tasks(), threads=2))
    assert sorted(task.key for batch in batches for task in batch) == sorted(
        task.key for task in plan.tasks()
    )
    assert all(len({task.source for task in batch}) == 1 for batch in batches)
    assert len(batches) >= 6
    assert len(list(cluster._batches(plan.tasks(), threads=1000))) == 12


def test_a_worker_fetches_a_trace_once(plan, traces):
    cache, source = TraceCache(1 << 30), plan.sources[0]
    first = cache.get(source, None)
    (traces / "small-1.npz").unlink()
    assert cache.get(source, None) is first


def test_a_worker_s_cache_drops_what_was_used_longest_ago(plan):
    one, two, three = plan.sources
    cache = TraceCache(one.memory + three.memory)
    for source in (one, two, one, three):
        cache.get(source, None)
    assert set(cache._traces) == {one.sha256, three.sha256}
    TraceCache(0).get(one, None)


class Meddling:
    """A lock after whose first release another thread of the worker fetches another trace."""

    def __init__(self, fetch):
        self._fetch = fetch
        self._fetching = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self._fetching:
            self._fetching = True
            self._fetch()
            self._fetching = False


def test_a_trace_that_is_dropped_at_once_was_fetched_all_the_same(plan):
    one, two, _ = plan.sources
    cache = TraceCache(0)
    cache._lock = Meddling(lambda: cache.get(two, None))
    assert cache.get(one, None).name == one.name
    assert set(cache._traces) == {two.sha256}


def test_a_worker_streams_what_is_too_large_for_it(plan):
    source = plan.sources[0]
    for largest, kind in ((source.memory, Trace), (source.memory - 1, TraceFile)):
        assert isinstance(TraceCache(1 << 30, largest).get(source, None), kind)


def test_a_worker_says_when_the_path_leads_nowhere(plan, traces):
    packed = (traces / "small-1.npz").read_bytes()
    (traces / "small-1.npz").unlink()
    tasks = plan.tasks()[:1]
    cache = TraceCache(1 << 20)
    assert carry_out_batch(tasks, code_version(), cache=cache) is None
    [outcome] = carry_out_batch(tasks, code_version(), packed, cache=cache)
    assert outcome.row["error"] is None
    other = FileSource.of(traces / "small-2.npz").pack()
    with pytest.raises(SimallocError, match="has changed"):
        plan.sources[0].unpack(other)
    with pytest.raises(SimallocError, match="this worker has simalloc"):
        carry_out_batch(tasks, "0.0.0+000000000000")
