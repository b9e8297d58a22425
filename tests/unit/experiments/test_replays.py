"""Many simulations on all cores."""

import threading

import pytest
from patience import wait_until

from experiments.johnstone_wilson import replays
from experiments.johnstone_wilson.alterations import Objects
from experiments.johnstone_wilson.replays import Job, replay_all, total_events
from simalloc.errors import PolicyError
from simalloc.heap import Realloc, simulate
from simalloc.machine import core_count
from simalloc.trace import Trace

TRACES = {
    "one": Trace.from_events([0, 0, 2, 1], [0, 1, 0, 1], [100, 50, 300, 0], name="one"),
    "two": Trace.from_events([0] * 9, range(9), [40] * 9, name="two"),
}


def test_every_job_is_carried_out_as_simulate_does():
    jobs = [
        Job("one", "best-fit-ao"),
        Job("one", "best-fit-ao", Realloc.MOVE),
        Job("two", "simple-seg-2n"),
        Job("one", "best-fit-ao", alteration=Objects((64, 64))),
        Job("one", "binary-buddy", alteration=Objects((64, 64))),
    ]
    advanced = []
    runs = replay_all([*jobs, *jobs], TRACES, advanced.append)
    assert set(runs) == set(jobs)
    assert runs[jobs[0]] == simulate(TRACES["one"], "best-fit-ao")
    assert runs[jobs[1]] == simulate(TRACES["one"], "best-fit-ao", realloc="move")
    assert runs[jobs[3]].max_live_bytes == runs[jobs[0]].max_live_bytes + 128
    assert total_events(jobs, TRACES) == 4 * 4 + 9
    assert sum(advanced) == 4 * 2 + 9 + 6 * 2  # an altered trace has its own number of events


def test_a_job_can_stop_early():
    job = Job("two", "best-fit-ao", alteration=Objects((64,)), upto=3)
    assert replay_all([job], TRACES, lambda _: None)[job].max_live_bytes == 64 + 3 * 40
    assert total_events([job], TRACES) == 3


def test_the_first_error_stops_the_rest_and_is_raised(monkeypatch):
    """The other replays do not end by themselves; each thread runs one when it is stopped."""
    threads = set(threading.enumerate())
    started = []

    def endless(trace, policy, *, progress, **keywords):
        started.append(policy)
        if policy == "no-such-policy":
            return simulate(trace, policy, **keywords)
        return wait_until(lambda: progress(0))

    monkeypatch.setattr(replays, "simulate", endless)
    rest = [Job("one", f"best-fit-ao:growth={n}") for n in range(1, core_count() + 20)]
    jobs = [Job("two", "no-such-policy"), *rest]
    with pytest.raises(PolicyError, match="no-such-policy"):
        replay_all(jobs, TRACES, lambda _: None)
    assert set(threading.enumerate()) <= threads
    assert len(started) <= 1 + core_count()


def test_an_interruption_stops_the_running_simulations():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay_all([Job("two", "best-fit-ao"), Job("one", "best-fit-ao")], TRACES, interrupt)
