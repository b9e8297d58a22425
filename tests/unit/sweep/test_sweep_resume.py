"""Running plans: only the missing runs are made, after any previous events."""

import subprocess
import sys
import threading
from dataclasses import replace
from unittest.mock import Mock

import pytest
from sweep_traces import small_trace

from simalloc.errors import PlanError, ResultsError, SimallocError, TraceError
from simalloc.heap import simulate
from simalloc.policy import modules_of
from simalloc.report.runs import flat_record
from simalloc.sweep import Observer, Results, carry_out_plan, run_sweep
from simalloc.sweep.board import Board, grouped
from simalloc.sweep.claims import Claims
from simalloc.sweep.estimate import estimate
from simalloc.sweep.local import run_locally
from simalloc.sweep.shard import Shard
from simalloc.sweep.source import FileSource, MemorySource, StreamedSource
from simalloc.sweep.store import Store
from simalloc.sweep.task import carry_out
from simalloc.trace import write_trace
from simalloc.version import code_version

CHANGING = {"seconds", "finished"}
"""Figures of a run that differ in a row of results, where `finished` is a time."""


class Notes(Observer):
    """Observer that records its notifications."""

    def __init__(self):
        self.outcomes, self.events, self.given_up = [], 0, 0

    def advanced(self, events):
        self.events += events

    def finished(self, outcome):
        self.outcomes.append(outcome)

    def left(self, task):  # noqa: ARG002 - the base class's parameter
        self.given_up += 1


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_sweep_is_what_its_runs_are(plan, results, jobs):
    notes = Notes()
    summary = carry_out_plan(plan, results, jobs=jobs, observer=notes)
    assert (summary.asked, summary.present, summary.done, summary.failed) == (12, 0, 12, 0)
    rows = {(row["trace_sha256"], row["policy"]): row for row in Results.read(results)}
    assert len(rows) == len(notes.outcomes) == 12
    assert notes.events == sum(row["events"] for row in rows.values())
    for task in plan.tasks():
        expected = flat_record(simulate(task.source.load(), task.policy))
        found = rows[task.key.trace_sha256, task.key.policy]
        assert {name: found.get(name) for name in expected if name not in CHANGING} == {
            name: value for name, value in expected.items() if name not in CHANGING
        }
        description = task.policy.description
        assert found["code"] == code_version(description.core, modules_of(task.policy))


def test_again_does_nothing_and_more_does_the_rest(plan, results):
    carry_out_plan(replace(plan, policies=plan.policies[:2]), results)
    notes = Notes()
    summary = carry_out_plan(plan, results, observer=notes)
    assert (summary.present, summary.done) == (6, 6)
    assert {outcome.key.policy for outcome in notes.outcomes} == {"best-fit-lifo", "lea-2.6.1"}
    assert carry_out_plan(plan, results).done == 0
    assert carry_out_plan(replace(plan, scales=(1,)), results).done == 12


def test_another_version_of_the_code_is_another_run(plan, results, monkeypatch):
    carry_out_plan(plan, results)
    monkeypatch.setattr("simalloc.sweep.task.code_version", lambda *_: "9.9.9+0123456789ab")
    assert carry_out_plan(plan, results).done == 12
    assert len(Results.read(results)) == 24
    assert {row["code"] for row in Results.read(results).where(code="latest")} == {
        "9.9.9+0123456789ab"
    }


def test_a_trace_that_vanishes_or_changes_fails_alone(plan, traces, results):
    (traces / "small-2.npz").unlink()
    write_trace(small_trace(9), traces / "small-3.npz")
    summary = carry_out_plan(plan, results)
    assert (summary.done, summary.failed) == (12, 8)
    errors = {row["trace"]: row["error"] for row in Results.read(results)}
    assert errors["small-1"] is None
    assert "No such file" in errors["small-2"]
    assert "has changed" in errors["small-3"]
    write_trace(small_trace(2, 400), traces / "small-2.npz")
    assert carry_out_plan(plan, results).done == 0
    summary = carry_out_plan(plan, results, retry_failed=True)
    assert (summary.present, summary.done, summary.failed) == (4, 8, 4)


def test_a_run_that_fails_does_not_stop_the_others(plan, results, monkeypatch):
    def fails_sometimes(trace, policy, *options, **others):
        if policy.name == "lea-2.6.1":
            raise ZeroDivisionError("a mistake")
        return simulate(trace, policy, *options, **others)

    monkeypatch.setattr("simalloc.sweep.task.simulate", fails_sometimes)
    assert carry_out_plan(plan, results).failed == 3
    failed = Results.read(results).failed
    assert {row["error"] for row in failed} == {"ZeroDivisionError: a mistake"}
    assert {row["policy"] for row in failed} == {"lea-2.6.1"}


def test_an_interruption_keeps_what_was_finished(plan, results):
    class Impatient(Notes):
        def finished(self, outcome):
            super().finished(outcome)
            if len(self.outcomes) == 5:
                raise KeyboardInterrupt

    impatient = Impatient()
    with pytest.raises(KeyboardInterrupt):
        carry_out_plan(plan, results, jobs=2, observer=impatient)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sweep-")]
    kept = len(Results.read(results))
    assert kept >= 5
    assert carry_out_plan(plan, results).done == 12 - kept


def test_an_interruption_while_threads_begin_ends_the_sweep(plan, results, monkeypatch):
    class Interrupted(threading.Thread):
        def start(self):
            super().start()
            raise KeyboardInterrupt

    monkeypatch.setattr("simalloc.sweep.local.Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        carry_out_plan(plan, results, jobs=2)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sweep-")]
    assert len(Results.read(results)) < 12


def test_an_error_of_the_results_ends_the_sweep(plan, results, monkeypatch):
    monkeypatch.setattr(Store, "is_done", lambda *_, **__: (_ for _ in ()).throw(ResultsError("x")))
    with pytest.raises(ResultsError, match="x"):
        carry_out_plan(plan, results, jobs=2)


def test_what_another_sweep_has_in_hand_is_left_to_it(plan, results):
    tasks = plan.tasks()
    code = (
        "import sys; from simalloc.sweep.claims import Claims\n"
        "from simalloc.sweep.task import Key\n"
        f"claims = Claims({str(results)!r}); assert claims.take(Key(*{tuple(tasks[0].key)!r}))\n"
        "print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        notes = Notes()
        summary = carry_out_plan(plan, results, observer=notes)
        assert (summary.done, summary.left, notes.given_up) == (11, 1, 1)
        other.kill()
    assert carry_out_plan(plan, results).done == 1


def test_a_run_done_meanwhile_is_not_done_again(plan, results):
    with Store(results, create=True) as store:
        missing = store.missing(plan.tasks())
        carry_out_plan(replace(plan, sources=plan.sources[:1]), results)
        notes = Notes()
        done = [
            outcome.key
            for batch in run_locally(
                missing, lambda task: not store.is_done(task), notes, jobs=2, memory=1 << 30
            )
            for outcome in batch
        ]
    assert sorted(done) == sorted(task.key for task in plan.tasks()[4:])


def test_claims_leave_nothing_behind(results, plan):
    key = plan.tasks()[0].key
    with Claims(results) as claims:
        assert claims.take(key)
        claims.release(key)
    assert list(results.parent.glob("results*")) == []


def test_the_longest_trace_and_the_slowest_policy_come_first(plan):
    board = Board(plan.tasks(), workers=2, budget=1 << 30)
    seen = []
    while (dealt := board.take()) is not None:
        group, task = dealt
        seen.append((task.source.name, task.key.policy))
        seconds = {"lea-2.6.1": 3.0, "best-fit-lifo": 2.0}.get(task.policy.name, 1.0)
        row = {"error": None, "events": 1, "seconds": seconds}
        board.done(group, type("Done", (), {"row": row, "failed": False, "key": task.key}))
    assert [name for name, _ in seen[::4]] == ["small-3", "small-2", "small-1"]
    assert [policy for _, policy in seen[4:6]] == ["lea-2.6.1", "best-fit-lifo"]


def test_traces_in_memory_stay_within_the_budget(plan):
    footprint = max(source.footprint(2) for source in plan.sources)
    board = Board(plan.tasks(), workers=2, budget=footprint)
    loaded, most = [], 0
    while (dealt := board.take()) is not None:
        group, _ = dealt
        loaded = [other.source for other in board._groups if other.trace is not None]
        most = max(most, sum(source.footprint(2) for source in loaded))
        board.done(group, None)
    assert 0 < most <= footprint


def test_a_file_beyond_the_budget_is_streamed(plan, results, tmp_path, monkeypatch):
    load = StreamedSource.load
    carry_out_plan(plan, tmp_path / "kept.sqlite")
    monkeypatch.setattr("simalloc.sweep.source.BYTES_A_STREAM", 0)
    monkeypatch.setattr("simalloc.sweep.source.BYTES_A_SLOT_READ", 0)
    read = []
    monkeypatch.setattr(StreamedSource, "load", lambda self: read.append(self.name) or load(self))
    budget = max(source.streamed().footprint(2) for source in plan.sources)
    assert budget < min(source.footprint(2) for source in plan.sources[1:])
    carry_out_plan(plan, results, jobs=2, memory=budget)
    assert sorted(set(read)) == ["small-2", "small-3"]
    kept, streamed = (
        sorted(Results.read(path), key=lambda row: (row["trace"], row["policy"]))
        for path in (tmp_path / "kept.sqlite", results)
    )
    for own, other in zip(streamed, kept, strict=True):
        assert {name for name in own if own[name] != other[name]} <= {"id", "seconds", "finished"}


def test_a_file_that_changes_while_it_is_streamed_fails_its_runs(plan, results, monkeypatch):
    monkeypatch.setattr("simalloc.sweep.source.BYTES_A_STREAM", 0)
    source = plan.sources[0].streamed()
    write_trace(small_trace(9), source.path)
    with pytest.raises(TraceError, match="has changed"):
        source.load()
    budget = max(other.streamed().footprint(2) for other in plan.sources)
    assert carry_out_plan(plan, results, jobs=2, memory=budget).failed == 4


def test_only_files_are_streamed():
    source = MemorySource.of(small_trace(1))
    assert source.streamed() is source


def test_a_trace_beyond_the_budget_is_refused(plan, results):
    with pytest.raises(SimallocError, match="the budget is 1 B; raise it with --memory"):
        carry_out_plan(plan, results, memory=1)
    assert not results.exists()
    Store(results, create=True).__exit__()
    with pytest.raises(SimallocError, match="raise it with --memory"):
        carry_out_plan(plan, results, memory=1000)
    assert len(Results.read(results)) == 0


def test_more_jobs_than_runs_take_no_more_memory(plan, results):
    budget = sum(source.footprint(12) for source in plan.sources)
    assert carry_out_plan(plan, results, jobs=100_000, memory=budget).done == 12


@pytest.mark.parametrize("jobs", [0, -3, 1.5, True])
def test_jobs_are_counted_from_1(plan, results, jobs):
    with pytest.raises(PlanError, match="use whole numbers from 1"):
        carry_out_plan(plan, results, jobs=jobs)
    assert not results.exists()


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_shards_are_a_partition_of_balanced_stretches(plan, count):
    tasks = plan.tasks()
    shares = [Shard(index, count).of(tasks) for index in range(1, count + 1)]
    assert sorted(task.key for share in shares for task in share) == sorted(t.key for t in tasks)
    backwards = Shard(1, count).of(tasks[::-1])
    assert [task.key for task in backwards] == [task.key for task in shares[0]]
    events = [sum(task.source.events for task in share) for share in shares]
    assert max(events) - min(events) <= 2 * max(task.source.events for task in tasks)
    assert sum(len(grouped(share)) for share in shares) <= len(plan.sources) + count - 1


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3", f"1/{10**101}"])
def test_a_wrong_shard_is_refused(text):
    with pytest.raises(SimallocError, match="use I/N"):
        Shard.parse(text)


def test_an_estimate_counts_all_and_measures_some(plan):
    work = estimate(plan.tasks(), seconds=0.5)
    assert work.runs == 12
    assert work.events == 4 * (200 + 400 + 600)
    assert 0 < work.measured <= 12
    assert work.seconds > 0
    assert estimate([]).seconds == 0


@pytest.mark.parametrize("hours", [0, 1])
def test_an_estimate_reckons_the_rest_as_what_was_measured(plan, monkeypatch, hours):
    """Reading takes no time, a replay two seconds per event; all runs or one run are measured."""

    def at_a_known_speed(task, trace):
        outcome = carry_out(task, trace)
        clock.append(clock[-1] + 3600 * hours)
        return replace(outcome, row={**outcome.row, "seconds": 2.0 * len(trace)})

    clock = [0.0]
    monkeypatch.setattr("simalloc.sweep.estimate.carry_out", at_a_known_speed)
    monkeypatch.setattr("simalloc.sweep.estimate.time", Mock(perf_counter=lambda: clock[-1]))
    work = estimate(plan.tasks())
    assert work.seconds == 2.0 * work.events
    assert work.measured == (1 if hours else 12)


def test_from_python_in_one_call(results):
    trace = small_trace(5)
    found = run_sweep([trace], ["first-fit-ao", "best-fit-ao"], scales=[1, 16])
    assert [(row["policy"], row["scale"]) for row in found] == [
        ("best-fit-ao", 1), ("best-fit-ao", 16), ("first-fit-ao", 1), ("first-fit-ao", 16),
    ]  # fmt: skip
    kept = run_sweep(
        trace, {"first-fit-ao": {"growth": ["4K", "64K"]}}, results=results, timelines=True
    )
    assert kept.timeline(kept[0]).interval == 1
    assert len(run_sweep(trace, "binary-buddy", results=results)) == 1
    with pytest.raises(SimallocError, match="in a file of results"):
        run_sweep(trace, "binary-buddy", timelines=True)
    assert len(Results.read(results)) == 3


def test_a_trace_in_memory_travels_without_its_events():
    source = MemorySource.of(small_trace(1))
    plain = source.__reduce__()[0](*source.__reduce__()[1])
    assert (plain.sha256, plain.events) == (source.sha256, source.events)
    with pytest.raises(SimallocError, match="in the memory of another process"):
        plain.load()
    assert plain.unpack(source.pack()).sha256() == source.sha256


def test_a_file_is_known_by_its_header(traces):
    source = FileSource.of(traces / "small-1.npz")
    trace = source.load()
    assert (source.sha256, source.events, source.slots) == (trace.sha256(), len(trace), trace.slots)
    assert source.pack() == (traces / "small-1.npz").read_bytes()
