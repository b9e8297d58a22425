"""Code that holds memory, and code that pins memory."""

from pathlib import Path

import numpy as np
import pytest

from simalloc.errors import SimallocError
from simalloc.heap import HOLE, heap_snapshot, simulate
from simalloc.measure.sites import (
    Parting,
    best_apart,
    call_path,
    events_of_best_apart,
    folded,
    held_by,
    held_under,
    profile_of,
    rows_of,
    tree_of,
    usage_of,
)
from simalloc.measure.sites.frames import LEFT_OUT, MAX_FRAMES, call_paths, short_name
from simalloc.report.sites import proposal_text, site_records, tree_records
from simalloc.trace import Op, Trace
from simalloc.trace.sites import PATH

INNOCENT, GUILTY = 1, 2
NAMES = [
    "",
    PATH.join(["xmalloc (util.c:9)", "temp_buffer (page.c:20)", "main (main.c:3)"]),
    PATH.join(["xmalloc (util.c:9)", "remember_session (session.c:7)", "main (main.c:5)"]),
]


def sessions(pairs=500):
    """Return many buffers that are all freed, and a small session between them that remains."""
    op, number, size, site = [], [], [], []
    for i in range(pairs):
        op += [Op.MALLOC, Op.MALLOC]
        number += [2 * i, 2 * i + 1]
        size += [3000, 40]
        site += [INNOCENT, GUILTY]
    op += [Op.FREE] * pairs
    number += range(0, 2 * pairs, 2)
    size += [0] * pairs
    site += [INNOCENT] * pairs
    return Trace.from_events(op, number, size, site=site, provenance={"sites": NAMES})


def random_trace(seed, events=600):
    """Return objects of four sites that are allocated, resized and freed."""
    random = np.random.default_rng(seed)
    live, rows, objects = [], [], 0
    for _ in range(events):
        if live and random.random() < 0.45:
            rows.append((Op.FREE, live.pop(random.integers(len(live))), 0, 0))
        elif live and random.random() < 0.2:
            rows.append(
                (Op.REALLOC, live[random.integers(len(live))], *random.integers(1, [9000, 4]))
            )
        else:
            rows.append((Op.MALLOC, objects, *random.integers(1, [9000, 4])))
            live.append(objects)
            objects += 1
    op, number, size, site = zip(*rows, strict=True)
    return Trace.from_events(op, number, size, site=site)


def held(trace, policy, page=4096, **options):
    run = simulate(trace, policy, **options)
    heap = heap_snapshot(trace, run, len(trace) - 1)
    site = np.where(heap.since >= 0, trace.site[np.maximum(heap.since, 0)], 0).astype(np.int64)
    return heap, site, held_by(heap, site, 5, scale=run.scale, page=page), run.scale


@pytest.mark.parametrize(
    "policy", ["first-fit-ao", "binary-buddy", "ptmalloc", "best-fit-ao:trim=1"]
)
@pytest.mark.parametrize("seed", [1, 2])
def test_pinned_bytes_are_those_that_could_go_without_the_site(policy, seed):
    """Brute force: remove a site's objects, and find the pages without live objects."""
    heap, site, found, scale = held(random_trace(seed), policy)
    page = 4096 * scale

    def occupied(without):
        pages = {}
        for address, size, number, owner in zip(
            heap.exact_address, heap.requested * scale, heap.object, site, strict=True
        ):
            if number >= 0 and owner != without and size:
                for each in range(address // page, (address + size - 1) // page + 1):
                    inside = min(address + size, (each + 1) * page) - max(address, each * page)
                    pages[each] = pages.get(each, 0) + inside
        return pages

    mapped = {}
    for address, size, number in zip(heap.exact_address, heap.exact_size, heap.object, strict=True):
        for each in range(address // page, (address + size - 1) // page + 1):
            inside = min(address + size, (each + 1) * page) - max(address, each * page)
            mapped[each] = mapped.get(each, 0) + inside * (number != HOLE)
    everything = occupied(None)
    free = {each: mapped[each] - live for each, live in everything.items()}
    for number in range(1, 5):
        rest = occupied(number)
        gone = sum(free[each] for each in everything if each not in rest)
        assert found.pinned_bytes[number] * scale == pytest.approx(gone)
    assert found.free_bytes * scale == sum(free.values())
    total = found.pinned_bytes.sum() + found.shared_bytes.sum()
    assert total == pytest.approx(found.free_bytes)


def test_what_each_site_has_and_how_long():
    op = [Op.MALLOC, Op.FREE, Op.MALLOC, Op.MALLOC, Op.REALLOC, Op.FREE]
    trace = Trace.from_events(
        op, [0, 0, 1, 2, 1, 2], [10, 0, 20, 30, 50, 0], site=[1, 1, 1, 2, 2, 1]
    )
    usage = usage_of(trace)
    assert usage.peak_event == 4
    assert usage.live_bytes.tolist() == [0, 0, 80]
    assert usage.final_bytes.tolist() == [0, 0, 50]
    assert usage.allocated_bytes.tolist() == [0, 30, 80]
    assert usage.never_freed.tolist() == [0, 0, 1]
    assert usage.temporary.tolist() == [0, 1, 0]
    assert usage.lived_events.tolist() == [0, 3, 2]
    assert [row.lifetime for row in rows_of(profile_of(trace), "site", "final_bytes")] == [2, 1.5]


@pytest.mark.parametrize("by", ["site", "function", "stack"])
def test_the_guilty_function_comes_first_although_both_allocate_by_xmalloc(by):
    profile = profile_of(sessions(), "first-fit-ao:growth=4K,trim=4K")
    guilty, innocent = rows_of(profile, by, "pinned_bytes")
    line = 0 if by == "function" else 7
    assert (guilty.frame.function, guilty.frame.file) == ("remember_session", "session.c")
    assert guilty.stack == call_path({"sites": NAMES}, GUILTY)
    assert site_records([guilty])[0]["line"] == (line or 7)  # one allocating line
    assert guilty.values["pinned_bytes"] > 1_400_000
    assert innocent.values["pinned_bytes"] == 0


PATHS = [
    "", "xmalloc < a (x.c:1) < main (x.c:9)", "a (x.c:2) < main (x.c:8)",
    "b (x.c:3) < a (x.c:1) < main (x.c:9)",
]  # fmt: skip


def with_paths(seed):
    trace = random_trace(seed)
    columns = (trace.op, trace.object, trace.size)
    return Trace.from_events(*columns, site=trace.site, provenance={"sites": PATHS})


@pytest.mark.parametrize("seed", [1, 2])
def test_sums_equal_the_whole_however_they_are_told_apart(seed):
    trace = with_paths(seed)
    profile = profile_of(trace, "best-fit-ao:trim=1", at="peak")
    live = trace.replayed.live
    whole = {
        "live_bytes": live.max(), "final_bytes": live[-1], "allocated_bytes": trace.size.sum(),
        "allocations": np.count_nonzero(trace.op != Op.FREE),
        "wasted_bytes": held_under(trace, "best-fit-ao:trim=1", at="peak").free_bytes,
        "pinned_bytes": profile.total("pinned_bytes"),
        "shared_bytes": profile.total("wasted_bytes") - profile.total("pinned_bytes"),
    }  # fmt: skip
    for measure, amount in whole.items():
        for by in ("site", "function", "stack"):
            rows = rows_of(profile, by, measure)
            assert sum(row.values[measure] for row in rows) == pytest.approx(amount)
        for way in ("top-down", "bottom-up"):
            tree = tree_of(profile, way)
            assert tree.totals[measure][0] == pytest.approx(amount)
            own = np.zeros(len(tree))
            np.add.at(own, tree.ends, profile.values[measure])
            for node, below in enumerate(tree.children()):
                total = own[node] + tree.totals[measure][below].sum()
                assert tree.totals[measure][node] == pytest.approx(total)


def shape(records):
    return {(record["function"], record["line"]): shape(record["children"]) for record in records}


def test_trees_run_down_from_main_and_up_from_what_allocates():
    profile = profile_of(with_paths(1))
    down = shape(tree_records(tree_of(profile, "top-down"), "live_bytes"))
    below_main = {("a", 1): {}, ("a", 2): {}, ("a", None): {("b", 3): {}}}
    assert down == {("main", None): below_main}
    up = shape(tree_records(tree_of(profile, "bottom-up"), "live_bytes"))
    assert up == {
        ("a", 1): {("main", None): {}}, ("a", 2): {("main", None): {}},
        ("b", 3): {("a", None): {("main", None): {}}},
    }  # fmt: skip


def test_filters_leave_what_they_keep_as_it_is():
    profile = profile_of(with_paths(1))
    kept = profile.where(lambda path: path[0].function == "a")
    assert len(profile) - len(kept) == 1
    assert all(path[0].function == "a" for path in kept.paths)
    both = kept.total("live_bytes") + profile.where(lambda path: path[0].function == "b").total(
        "live_bytes"
    )
    assert both == profile.total("live_bytes")


def test_apart_says_what_the_heap_would_be():
    trace = sessions()
    parting = Parting(trace, "first-fit-ao:growth=4K,trim=4K")
    found = parting.apart([GUILTY])
    assert found.event == len(trace) - 1
    assert found.then_resident_bytes > 1_400_000
    assert found.then_apart_bytes < 120_000
    assert found.saved == found.then_resident_bytes - found.then_apart_bytes
    together = parting.apart([])
    assert together.peak_apart_bytes == together.peak_resident_bytes


def test_the_best_to_put_apart_are_those_that_save_most():
    trace, policy = sessions(), "first-fit-ao:growth=4K,trim=4K"
    (best, *others) = best_apart(trace, policy)
    assert [tuple(frame) for frame in best.frames] == [("remember_session", "session.c", 7)]
    assert best.apart == Parting(trace, policy).apart([GUILTY])
    assert all(best.apart.saved >= other.apart.saved > 0 for other in others)
    assert (best.events, best.of_events) == (len(trace), len(trace))


def test_of_a_long_trace_the_first_events_are_tried():
    short = sessions()
    columns = (short.op, short.object, short.size, short.site)
    op, number, size, site = (np.append(column, column[:2]) for column in columns)
    number[-2:] += 1_000_000
    trace = Trace.from_events(op, number, size, site=site, provenance=short.provenance)
    (best, *_) = best_apart(trace, "first-fit-ao:growth=4K,trim=4K", events=len(short))
    assert best.apart == Parting(short, "first-fit-ao:growth=4K,trim=4K").apart([GUILTY])
    assert "of the first 1,500 events" in proposal_text(best)


def test_two_that_pin_one_heap_are_put_apart_together():
    """Only the heap's end is trimmed: if one function is moved elsewhere, the other still pins."""
    trace = sessions()
    site = np.where(trace.object % 4 == 3, 3, trace.site)
    names = [*NAMES, "remember_user (user.c:3)"]
    columns = (trace.op, trace.object, trace.size)
    trace = Trace.from_events(*columns, site=site, provenance={"sites": names})
    (best, *_) = best_apart(trace, "first-fit-ao:growth=4K,trim=4K")
    assert {frame.function for frame in best.frames} == {"remember_session", "remember_user"}
    assert "A separate arena for the objects of " in proposal_text(best)


def test_nothing_is_proposed_for_a_trace_without_sites():
    assert best_apart(Trace.from_events([Op.MALLOC], [0], [1]), "first-fit-ao") == []


@pytest.mark.parametrize("seed", [1, 2])
def test_progress_of_proposals_comes_to_what_was_announced(seed):
    trace, done = random_trace(seed), []
    best_apart(trace, "first-fit-ao", progress=done.append)
    # the trace has 3 of the 4 possible sites
    assert sum(done) == events_of_best_apart(trace) - len(trace)


@pytest.mark.parametrize(
    ("path", "guilty"),
    [
        (["xmalloc", "work (a.c:3)"], ("work", "a.c", 3)),
        (["operator new(unsigned long)", "std::vector<int>::reserve (v.h:9)", "f() (f.cc:1)"],
         ("f()", "f.cc", 1)),
        (["vector (/usr/include/c++/12/bits/stl_vector.h:9)", "f (f.cc:1)"], ("f", "f.cc", 1)),
        (["__rust_alloc", "alloc::vec::Vec<T>::push", "app::run (src/main.rs:8)"],
         ("app::run", "src/main.rs", 8)),
        (["port::aligned_alloc", "Reader::Reader"], ("Reader::Reader", "", 0)),
        (["_IO_file_doallocate", "__GI__IO_doallocbuf", "_IO_new_file_xsputn", "puts", "main"],
         ("puts", "", 0)),
        (["malloc"], ("malloc", "", 0)),
    ],
)  # fmt: skip
def test_wrappers_are_folded(path, guilty):
    assert folded(call_path({"sites": ["", PATH.join(path)]}, 1))[0] == guilty


def test_wrappers_of_ones_own():
    frames = call_path({"sites": ["", PATH.join(["pool_get", "work"])]}, 1)
    assert folded(frames)[0].function == "pool_get"
    assert folded(frames, ["pool_.*"])[0].function == "work"


def test_a_trace_without_sites_says_how_to_record_them():
    trace = Trace.from_events([Op.MALLOC], [0], [1])
    with pytest.raises(SimallocError, match="--stacks"):
        usage_of(trace)


def test_the_page_on_sites_names_every_column():
    page = (Path(__file__).parents[3] / "docs/sites.md").read_text("utf-8")
    profile = profile_of(sessions(5), "first-fit-ao")
    (record, *_) = site_records(rows_of(profile, "site", "pinned_bytes"))
    assert not [name for name in record if f"`{name}`" not in page]


def deep(count):
    """Return a trace of a recursion that allocates at each level."""
    places = [[], *([[f"f{level}", "a.c", level]] for level in range(count))]
    stacks = {"places": places, "parent": [0, *range(count)], "place": [*range(count + 1)]}
    columns = ([0] * count, range(count), [24] * count)
    return Trace.from_events(*columns, site=range(1, count + 1), provenance={"stacks": stacks})


def test_paths_as_deep_as_the_recorder_notes_are_whole():
    paths = call_paths(deep(MAX_FRAMES).provenance, [MAX_FRAMES])
    assert [frame.function for frame in paths[0]] == [f"f{n}" for n in range(MAX_FRAMES)][::-1]


def test_a_deep_recursion_keeps_both_ends_of_its_paths():
    count = 3000
    trace = deep(count)
    (path,) = call_paths(trace.provenance, [count])
    assert len(path) == MAX_FRAMES
    assert path.count(LEFT_OUT) == 1
    assert (path[0].function, path[-1].function) == (f"f{count - 1}", "f0")
    profile = profile_of(trace)
    assert sum(map(len, profile.paths)) <= count * MAX_FRAMES
    tree = tree_of(profile)
    assert tree.totals["live_bytes"][0] == 24 * count


def test_callers_in_pythons_import_system_are_omitted():
    importing = [
        "_call_with_frames_removed (<frozen importlib._bootstrap>:241)",
        "_PyEval_EvalFrameDefault (/build/Python/ceval.c:4769)",
        "builtin_exec (/build/Python/bltinmodule.c:1077)",
        "_run_code (/lib/python3.11/runpy.py:88)",
    ]
    path = ["_compile_bytecode (<frozen importlib._bootstrap_external>:729)", *importing,
            "<module> (/lib/json/decoder.py:3)", *importing, "<module> (/lib/json/__init__.py:106)",
            *importing, "main (/src/importlibrary/runpy.c:5)"]  # fmt: skip
    names = ["", PATH.join(path)]
    trace = Trace.from_events(
        [Op.MALLOC], [0], [24], site=[1], provenance={"sites": names}, name="importing"
    )
    profile = profile_of(trace)
    assert len(profile.paths[0]) == len(path)
    (node,) = tree_records(tree_of(profile, "top-down"), "live_bytes")
    functions = []
    while node:
        functions.append((node["function"], node["file"]))
        node = next(iter(node["children"]), None)
    assert functions == [
        ("main", "/src/importlibrary/runpy.c"),
        ("<module>", "/lib/json/__init__.py"),
        ("<module>", "/lib/json/decoder.py"),
        ("_compile_bytecode", "<frozen importlib._bootstrap_external>"),
    ]
    assert short_name(trace.provenance, 1) == PATH.join(
        [path[0], "<module> (decoder.py:3)", "<module> (json/__init__.py:106)", "main (runpy.c:5)"]
    )
