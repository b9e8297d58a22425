"""Malloc and settings: the candidates, their results, and the verdict."""

import platform
from dataclasses import replace

import numpy as np
import pytest

from simalloc.advice import (
    advise,
    candidates,
    installed_release,
    policy_in_use,
    recorded,
    settings_of,
    user_candidate,
)
from simalloc.advice.outcomes import version_for, with_trims
from simalloc.advice.perturbed import in_another_order
from simalloc.advice.sentences import resident, spelled
from simalloc.advice.thread_arenas import thread_arenas
from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.report.settings import model_beside_real, settings_records
from simalloc.trace import Op, Trace

JEMALLOC = "export LD_PRELOAD=libjemalloc.so.2"


def idle_threads(threads=8, objects=400, keep=10):
    """Return threads that run one after the other and keep a few of their objects."""
    op, number, size, thread = [], [], [], []
    for worker in range(1, threads + 1):
        own = range(worker * objects, (worker + 1) * objects)
        gone = [each for each in own if each % (objects // keep)]
        op += [Op.MALLOC] * objects + [Op.FREE] * len(gone)
        number += [*own, *gone]
        size += [600] * objects + [0] * len(gone)
        thread += [worker] * (objects + len(gone))
    return Trace.from_events(op, number, size, thread=thread, provenance={"recorder": "test"})


def nothing_to_gain():
    return Trace.from_events([Op.MALLOC] * 500, range(500), [30_000] * 500)


def by_name(settings):
    return {one.candidate.name: one for one in settings}


@pytest.fixture(scope="module")
def idle():
    trace = idle_threads()
    return trace, settings_of(trace, candidates())


def test_threads_that_are_idle_hold_arenas(idle):
    _, settings = idle
    found = by_name(settings)
    default, single = found["glibc"], found["glibc:arena_max=1"]
    assert default.resident.final_bytes > 2 * single.resident.final_bytes
    trimmed = found["glibc:malloc_trim=10000"]
    assert trimmed.run.events == default.run.events  # the trace is shorter than the limit


def test_the_verdict_names_a_line_that_helps(idle):
    trace, settings = idle
    glibc = [one for one in settings if one.candidate.allocator == "glibc"]
    advice = advise(trace, glibc, recorded({"malloc": "glibc 2.36"}))
    assert advice.line == "export MALLOC_ARENA_MAX=1"
    assert advice.text.startswith(
        f"Recommended: `{advice.line}`. At its peak, the heap's resident memory would fall from "
    )
    assert "or record the program with `--times`" in advice.text
    assert " thread arenas contain " in advice.text


def test_which_arenas_hold_what_is_not_live():
    trace = idle_threads()
    run = simulate(trace, "ptmalloc:version=2.36", resident=True)
    held = thread_arenas(trace, run, len(trace) - 1)
    assert (held.arenas, held.idle) == (7, 6)
    unused = run.resident.final_bytes - run.final_live_bytes
    assert 0.8 * unused < held.bytes < unused
    assert 0.8 * held.bytes < held.idle_bytes < held.bytes
    assert thread_arenas(trace, run, 10).arenas == 0


def verdict_on(malloc, tried, events=idle_threads):
    trace = replace(events(), provenance={"malloc": f"/usr/lib/x86_64-linux-gnu/{malloc}"})
    settings = settings_of(trace, [user_candidate(name) for name in tried])
    records = settings_records("mine", settings)
    return advise(trace, settings, recorded(trace.provenance)), records


def test_a_program_that_is_linked_with_another_malloc_must_be_given_glibcs():
    advice, records = verdict_on("libjemalloc.so.2", ["jemalloc", "glibc:arena_max=1"])
    assert advice.text.startswith(f"Recommended: `{advice.line}`. ")
    assert advice.now.candidate.name == "jemalloc"
    assert advice.line == "export LD_PRELOAD=libc.so.6:libstdc++.so.6 MALLOC_ARENA_MAX=1"
    assert [row["line"] for row in records] == [JEMALLOC, advice.line]


def test_of_a_malloc_without_a_model_nothing_is_said():
    tried = ["glibc", "glibc:arena_max=1"]
    advice, _ = verdict_on("libhoard.so", tried)
    said = (
        "The program ran with libhoard.so, which has no model, so settings are compared with glibc."
    )
    assert said in advice.text
    assert advice.line == "export LD_PRELOAD=libc.so.6:libstdc++.so.6 MALLOC_ARENA_MAX=1"
    advice, _ = verdict_on("libhoard.so", tried[:1], nothing_to_gain)
    assert said in advice.text
    assert (
        "No change recommended: glibc needs the least memory of all settings tried." in advice.text
    )


def test_where_nothing_is_to_be_gained_it_says_so():
    trace = nothing_to_gain()
    tried = [user_candidate("glibc"), user_candidate("glibc:tcache_count=0")]
    advice = advise(trace, settings_of(trace, tried), recorded({}))
    assert advice.text.startswith("No change recommended: glibc needs ")
    assert advice.line == ""
    assert advice.spread < 0.01


def test_live_data_that_is_never_written_is_named():
    """1,000 live blocks of 100,000 bytes; the program writes the first 60,000 bytes of each."""
    count, size, never = 1000, 100_000, 40_000
    trace = Trace.from_events([0] * count, range(count), [size] * count, unwritten=[never] * count)
    (now,) = settings_of(trace, [user_candidate("glibc")])
    missing = count * size - now.peak_bytes
    assert 0.85 < missing / (count * never) < 1, "whole pages are missing"
    assert f"At least {spelled(missing)} of the live data is never written" in resident(now)
    (other,) = settings_of(replace(trace, unwritten=None), [user_candidate("glibc")])
    assert "never written" not in resident(other)


def test_what_cannot_be_advised_is_not_called_the_best(idle):
    trace, _ = idle
    tried = [user_candidate("glibc"), user_candidate("glibc:malloc_trim=1000")]
    text = advise(trace, settings_of(trace, tried), recorded({})).text
    assert text.startswith("No change recommended: glibc needs the least memory of all settings")
    assert (
        "Calling `malloc_trim(0)` every 1,000 events would reduce the heap's resident memory to "
        in text
    )


@pytest.mark.parametrize(("most", "is_less"), [(200 << 20, False), (5 << 20, True)])
def test_the_process_stands_beside_the_model(most, is_less):
    trace = nothing_to_gain()
    samples = [[at, at, most if at == 250 else 4096, most] for at in range(0, 500, 10)]
    process = recorded({"resident": samples})
    lines = model_beside_real(settings_of(trace, [user_candidate("glibc")]), process)
    assert ("█" in lines[2], lines[3].endswith("█")) == (not is_less, is_less)
    assert any("held less than its heap in the model." in line for line in lines) == is_less


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("glibc", ""),
        ("glibc:arena_max=2", "export MALLOC_ARENA_MAX=2"),
        (
            "glibc:top_pad=64K,tcache_count=0",
            "export GLIBC_TUNABLES=glibc.malloc.top_pad=65536:glibc.malloc.tcache_count=0",
        ),
        (
            "jemalloc:dirty_decay_ms=0,background_thread=on",
            f"{JEMALLOC} MALLOC_CONF=dirty_decay_ms:0,background_thread:true",
        ),
        (
            "tcmalloc:aggressive_decommit=on",
            "export LD_PRELOAD=libtcmalloc_minimal.so.4 TCMALLOC_AGGRESSIVE_DECOMMIT=1",
        ),
        (
            "mimalloc:purge_delay=0",
            "export LD_PRELOAD=libmimalloc.so.3 MIMALLOC_PURGE_DELAY=0",
        ),
    ],
)
def test_lines_to_paste(text, line):
    assert user_candidate(text).line == line


@pytest.mark.parametrize(
    ("recorded_as", "modelled"),
    [("2.36", "2.36"), ("2.42", "2.41"), ("2.99", "2.44"), ("2.31", "2.36")],
)
def test_the_release_that_served_the_program_is_modelled(recorded_as, modelled):
    assert user_candidate("glibc").policy(recorded_as) == f"ptmalloc:version={modelled}"
    assert user_candidate("glibc:version=2.43").policy(recorded_as) == "ptmalloc:version=2.43"


def test_a_malloc_that_is_not_recorded_is_the_one_that_is_installed():
    release = installed_release("glibc")
    assert platform.libc_ver() in {("glibc", release), ("", "")}
    unknown = version_for(user_candidate("glibc"), recorded({}))
    assert (unknown, version_for(user_candidate("glibc"), recorded({"malloc": "glibc 2.41"}))) == (
        release, "2.41",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("malloc", "policy"),
    [
        ("glibc 2.42", "ptmalloc:version=2.41"),
        ("/opt/libjemalloc.so.2 5.3.0", "jemalloc:version=5.3.0"),
        ("/opt/libhoard.so", user_candidate("glibc").policy(installed_release("glibc"))),
    ],
)
def test_what_a_trace_is_replayed_under_where_nothing_is_chosen(malloc, policy):
    trace = Trace.from_events([], [], [], provenance={"malloc": malloc})
    assert policy_in_use(trace) == policy


def test_a_search_tries_every_combination():
    tried = candidates(search=True)
    assert len({one.name for one in tried}) == len(tried) > 60
    assert user_candidate("glibc:arena_max=2,tcache_count=0") in tried


def test_a_malloc_without_a_model_is_refused():
    with pytest.raises(SimallocError, match="'hoard' has no model"):
        user_candidate("hoard:x=1")


def test_trims_come_after_every_so_many_events():
    trace = idle_threads(threads=2)
    trimmed = with_trims(trace, 100)
    places = np.flatnonzero(trimmed.op == Op.EMPTY)
    assert places.tolist() == [100 + 101 * i for i in range(len(places))]
    kept = trimmed.op != Op.EMPTY
    assert trimmed.size[kept].tolist() == trace.size.tolist()


def test_another_order_keeps_that_of_each_thread_and_object():
    trace = idle_threads(threads=3)
    each = len(trace) // 3
    rows = sorted(range(len(trace)), key=lambda event: (event % each, trace.thread[event]))
    woven = Trace.from_events(
        trace.op[rows], trace.object[rows], trace.size[rows], thread=trace.thread[rows]
    )
    other = in_another_order(woven, seed=1)
    assert (other.thread != woven.thread).any()
    for worker in range(1, 4):
        of_worker = woven.size[woven.thread == worker].tolist()
        assert other.size[other.thread == worker].tolist() == of_worker
