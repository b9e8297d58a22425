"""Verdicts on programs from bug reports, in tests/data/reports or made here."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simalloc import read_trace
from simalloc.advice import (
    Moment,
    advise,
    candidates,
    machine_of,
    recorded,
    settings_of,
    user_candidate,
)
from simalloc.trace import Op, Trace
from simalloc.trace.recorder.built_in import FREE_THREADED, GO

REPORTS = Path(__file__).parents[2] / "data" / "reports"
THRESHOLDS = {
    f"export GLIBC_TUNABLES=glibc.malloc.{name}_threshold=65536" for name in ("trim", "mmap")
}


def verdict(trace, tried=None):
    return advise(trace, settings_of(trace, tried or candidates()), recorded(trace.provenance))


@pytest.mark.parametrize("size", [400_000, 4_000_000, 16_000_000])
def test_what_holds_nearly_nothing_is_recommended(size):
    """Run-to-run variation of 4 KiB is many times the smallest value, so bytes are compared."""
    trace = read_trace(REPORTS / "two_large_blocks.txt")
    assert set(trace.size.tolist()) == {0, 4_000_000}
    scaled = Trace.from_events(trace.op, trace.object, trace.size // 4_000_000 * size)
    advice = verdict(scaled)
    assert advice.line in THRESHOLDS
    assert advice.moments[0] is Moment.UNUSED
    assert advice.now.moments[Moment.UNUSED] > size
    assert advice.best.moments[Moment.UNUSED] < 10_000


def test_a_block_between_large_ones_is_no_reason_to_keep_them():
    """The trace repeats 50 times: posix_memalign(64, 4 MiB), free, and malloc(25) that is kept."""
    op = [Op.MALLOC, Op.FREE, Op.MALLOC] * 50
    number = [each for turn in range(50) for each in (2 * turn, 2 * turn, 2 * turn + 1)]
    size = [4 << 20, 0, 25] * 50
    alignment = [64, 0, 0] * 50
    advice = verdict(Trace.from_events(op, number, size, alignment=alignment))
    assert advice.line in THRESHOLDS
    assert advice.now.moments[Moment.UNUSED] == pytest.approx(61_536 << 10, rel=0.03)


def test_what_is_held_while_idle_counts_although_the_end_is_clean():
    trace = read_trace(REPORTS / "idle_then_stopped.txt")
    advice = verdict(trace)
    assert advice.line == "export GLIBC_TUNABLES=glibc.malloc.mmap_threshold=65536"
    assert set(advice.moments) == {Moment.UNUSED, Moment.MEAN}
    for moment in advice.moments:
        assert advice.now.moments[moment] == pytest.approx(2.29 * 2**20, rel=0.01)
        assert advice.best.moments[moment] < 0.15 * 2**20
    assert "The heap's resident memory changes little at its peak." in advice.text


def forty_threads():
    """Return 40 threads that each allocate 4 MB in small blocks, free all but one, and stay."""
    threads, each = 40, 4000
    own = np.arange(threads * (each + 1)).reshape(threads, each + 1)
    op = ([Op.MALLOC] * (each + 1) + [Op.FREE] * each) * threads
    size = np.tile(np.array([1000] * each + [100] + [0] * each), threads)
    return Trace.from_events(
        op,
        np.hstack([own, own[:, :-1]]).ravel(),
        size,
        thread=np.repeat(np.arange(1, threads + 1), 2 * each + 1),
        provenance={"recorder": "test", "malloc": "glibc 2.36", "cores": 2},
    )


def test_the_recorded_cores_decide_how_many_arenas_there_are():
    """The real program holds 64,876 kB in 16 arenas under glibc and 37,224 kB under jemalloc."""
    trace = forty_threads()
    tried = [user_candidate(name) for name in ("glibc", "glibc:arena_max=16", "jemalloc")]
    default, limited, jemalloc = settings_of(trace, tried)
    assert default.moments == limited.moments
    assert default.final_bytes == pytest.approx(64_876 << 10, rel=0.04)
    assert jemalloc.final_bytes == pytest.approx(37_224 << 10, rel=0.06)  # stacks excluded
    other = machine_of(trace.provenance, cores=64)
    assert (other.source, other.cores) == ("given", 64)
    on_64, *_ = settings_of(trace, tried[:1], machine=other)
    assert on_64.final_bytes > 2 * default.final_bytes
    assert "15 thread arenas contain " in advise(trace, [default], recorded(trace.provenance)).text


def test_a_recording_of_next_to_nothing_gets_no_verdict():
    trace = Trace.from_events([Op.MALLOC, Op.FREE], [0, 0], [72_704, 0])
    advice = verdict(trace)
    assert advice.text.startswith("No verdict: the trace has only 2 events ")
    assert advice.line == ""


def sampled(trace, *resident):
    """Give a trace samples of its process, evenly distributed over its events."""
    at = np.linspace(0, len(trace) - 1, len(resident)).astype(int).tolist()
    samples = [[event, event, size, size] for event, size in zip(at, resident, strict=True)]
    return replace(trace, provenance={"malloc": "glibc 2.36", "resident": samples})


def test_where_malloc_is_a_small_part_of_the_process_no_setting_can_help():
    trace = read_trace(REPORTS / "two_large_blocks.txt")
    advice = verdict(sampled(trace, 200 << 20, 201 << 20))
    assert advice.text.startswith("No change recommended: malloc's heap is 2 % of the process's ")
    assert "so no malloc setting can help." in advice.text
    assert advice.line == ""
    most = verdict(sampled(trace, 5 << 20, 5 << 20))
    assert most.line in THRESHOLDS
    assert "malloc's heap is 76 % of it" in most.text


def test_what_else_the_process_has_is_named():
    """The verdict uses the process's sample with the most resident bytes."""
    trace = sampled(read_trace(REPORTS / "two_large_blocks.txt"), 200 << 20, 201 << 20)
    looks = [
        [0, {"files": 50 << 20, "anonymous": 150 << 20}],
        [1, {"files": 60 << 20, "anonymous": 9 << 20}],
    ]
    known = replace(trace, provenance={**trace.provenance, "resident_by_kind": looks})
    assert (
        " Mapped files account for 50.00 MiB and other memory for 147.2 MiB." in verdict(known).text
    )
    assert "Mapped files" not in verdict(trace).text
    keys = ("calls", "peak_mapped_bytes", "final_mapped_bytes", "final_resident_bytes")
    sizes = dict.fromkeys(keys, 90 << 20)
    mappings = [
        {"function": name, "file": "/lib/v.so", "resident_bytes": size, **sizes}
        for name, size in (("small", 1 << 20), ("pool", 80 << 20))
    ]
    pool = replace(known, provenance={**known.provenance, "mappings": mappings})
    assert (
        " other memory for 147.2 MiB, including 80.00 MiB that pool mapped." in verdict(pool).text
    )


def test_another_release_than_that_of_the_program_is_named():
    trace = read_trace(REPORTS / "two_large_blocks.txt")
    text = verdict(replace(trace, provenance={"malloc": "glibc 2.39"})).text
    assert "The program ran with glibc 2.39; the nearest modelled release is 2.36." in text
    assert (
        "nearest modelled" not in verdict(replace(trace, provenance={"malloc": "glibc 2.41"})).text
    )


def costly(trace, seconds):
    """Return the verdict on a program that uses the given CPU seconds."""
    timed = replace(trace, provenance={"malloc": "glibc 2.36", "cpu_seconds": seconds})
    tried = [user_candidate(name) for name in ("glibc", "glibc:mmap_threshold=64K")]
    return verdict(timed, tried)


def test_what_costs_more_than_the_budget_is_named_and_not_recommended():
    """A block of 200 KB is repeatedly allocated and freed, and its pages are mapped each time."""
    turns = 4000
    op = [Op.MALLOC] * 61 + [Op.FREE] * 60 + [Op.MALLOC, Op.FREE] * turns
    number = [*range(61), *range(60), *np.repeat(np.arange(61, 61 + turns), 2).tolist()]
    size = [100_000] * 60 + [50] + [0] * 60 + [200_000, 0] * turns
    trace = Trace.from_events(op, number, size)
    cheap = costly(trace, 100.0)
    assert cheap.line == "export GLIBC_TUNABLES=glibc.malloc.mmap_threshold=65536", cheap.text
    assert "It adds " in cheap.text
    assert " page faults" in cheap.text
    dear = costly(trace, 0.05)
    assert dear.line == ""
    assert "glibc needs the least memory of all settings that can be recommended." in dear.text
    assert f"`{cheap.line}` would reduce the heap's resident memory to " in dear.text
    assert "The upper limit of this cost exceeds the 5 % that --max-cost allows." in dear.text


@pytest.mark.parametrize(
    ("allocator", "remedy"),
    [
        (GO, ""),
        (FREE_THREADED, "Record the program under a Python build with the GIL."),
        ("jemalloc", "link the program without this allocator"),
    ],
)
def test_a_program_with_an_allocator_inside_gets_no_verdict(allocator, remedy):
    trace = read_trace(REPORTS / "two_large_blocks.txt")
    assert verdict(trace).line
    trace = replace(trace, provenance={"built_in": allocator})
    advice = verdict(trace)
    assert (advice.line, advice.moments, advice.best) == ("", (), advice.now)
    assert advice.text.startswith(f"No verdict: the program contains {allocator}, whose ")
    assert remedy in advice.text


def test_two_mallocs_in_one_process_get_no_verdict():
    trace = read_trace(REPORTS / "two_large_blocks.txt")

    def served(allocations):
        second = {"library": "/usr/lib/libother.so.1", "allocations": allocations}
        return verdict(replace(trace, provenance={"malloc": "glibc 2.36", "second_malloc": second}))

    few = trace.objects // 100
    assert served(few).line in THRESHOLDS
    advice = served(few + 1)
    assert advice.text.startswith(
        f"No verdict: libother.so.1 served {few + 1} of the {trace.objects} allocations, and glibc "
    )
    assert advice.line == ""


def test_memory_from_brk_that_no_block_explains_gets_no_verdict():
    """The model's heap holds 3.8 MiB at the process's peak."""
    trace = sampled(read_trace(REPORTS / "two_large_blocks.txt"), 5 << 20, 20 << 20)

    def with_brk(size):
        looks = [[0, {"heap": size, "files": 1 << 20}]]
        return verdict(replace(trace, provenance={**trace.provenance, "resident_by_kind": looks}))

    assert with_brk(7 << 20).line in THRESHOLDS
    advice = with_brk(12 << 20)
    assert advice.text.startswith("No verdict: 8.18 MiB of the process's memory from brk ")
    assert advice.line == ""
