"""The estimated CPU time of a setting, and its upper limit."""

import os
import resource
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simalloc.advice import settings_of, user_candidate
from simalloc.advice.costs import UNCERTAINTY, Cost, cost_of
from simalloc.advice.prices import Prices
from simalloc.advice.sentences import cost as cost_in_words
from simalloc.heap import simulate
from simalloc.trace import Op, Trace

PRICES = Prices(page=1.0, mapping=10.0, request=100.0)
THREADS, TURNS, BYTES = 4, 200, 200_000
PROGRAM = Path(__file__).with_name("turns.c")
THRESHOLD = "export GLIBC_TUNABLES=glibc.malloc.mmap_threshold=65536"


def turns():
    """Return a trace of threads that repeatedly allocate and free a large block."""
    count = THREADS * TURNS
    op = np.tile(np.array([Op.MALLOC, Op.FREE], np.uint8), count)
    number = np.repeat(np.arange(count), 2)
    size = np.where(op == Op.MALLOC, BYTES, 0)
    return Trace.from_events(op, number, size, thread=number % THREADS + 1)


def run_of(text):
    return simulate(turns(), text, resident=True)


def test_the_limit_doubles_what_a_setting_costs_and_not_what_it_saves():
    now, then = run_of("ptmalloc:version=2.36"), run_of("ptmalloc:version=2.36,mmap_threshold=64K")
    faults = then.costs.faults - now.costs.faults
    calls = then.costs.system_calls - now.costs.system_calls
    assert faults > 0 < calls
    cost = cost_of(then, now, PRICES, 1e6)
    assert cost.seconds == faults + 10 * calls
    assert cost.max_seconds == UNCERTAINTY * cost.seconds
    assert (cost.share, cost.max_share) == (cost.seconds / 1e6, cost.max_seconds / 1e6)
    saving = cost_of(now, then, PRICES, None)
    assert saving.max_seconds == saving.seconds == -cost.seconds
    assert (saving.share, saving.max_share) == (None, None)
    assert not saving.exceeds(0.0)


def test_a_budget_is_compared_with_the_limit():
    now, then = run_of("ptmalloc:version=2.36"), run_of("ptmalloc:version=2.36,mmap_threshold=64K")
    cost = cost_of(then, now, PRICES, 1.0)
    assert cost.exceeds(1.5 * cost.share)
    assert not cost.exceeds(cost.max_share)


def test_requests_without_a_thread_cache_cost_and_are_named():
    now, then = run_of("ptmalloc:version=2.36"), run_of("ptmalloc:version=2.36,tcache_count=0")
    faults = then.costs.faults - now.costs.faults
    calls = then.costs.system_calls - now.costs.system_calls
    found = cost_of(then, now, PRICES, None)
    assert found.uncached == then.events
    assert found.seconds == faults + 10 * calls + 100 * then.events
    assert cost_of(now, now, PRICES, None).uncached == 0
    (setting,) = settings_of(turns(), [user_candidate("glibc")])
    dear = replace(setting, cost=Cost(5, -3, 1.0, 2.0, None, 1600))
    assert cost_in_words(dear).startswith(
        "The change costs 1 to 2 s of CPU time. It adds 5 page faults. It saves 3 system calls. "
        "1,600 more requests bypass the thread cache. "
    )


def cpu_seconds(program, variables):
    """Return the minimum CPU time of three runs."""
    taken = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [str(number) for number in (THREADS, TURNS, BYTES)]
        subprocess.run([program, *words], env=os.environ | variables, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_program_pays_at_most_the_limit(tmp_path):
    program = tmp_path / "turns"
    subprocess.run(["cc", "-O1", "-fno-builtin", "-pthread", "-o", program, PROGRAM], check=True)
    tried = [user_candidate(name) for name in ("glibc", "glibc:mmap_threshold=64K")]
    _, mapped = settings_of(turns(), tried)
    assert mapped.line == THRESHOLD
    name, _, value = THRESHOLD.removeprefix("export ").partition("=")
    measured = cpu_seconds(program, {name: value}) - cpu_seconds(program, {name: ""})
    assert 0 < measured < mapped.cost.max_seconds
    assert mapped.cost.seconds < 4 * measured
