"""Snapshots of programs that record each of their blocks."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from process_programs import Target, libcs, running

from simalloc.process import LiveProcess, Snapshot, take_snapshot
from simalloc.process.glibc.capture import capture
from simalloc.process.glibc.chunks import LIVE, MAPPED_ALONE
from simalloc.process.glibc.layouts import BINS
from simalloc.process.glibc.main_arena import break_end
from simalloc.process.glibc.own_figures import arena_info
from simalloc.process.glibc.reading import Heap
from simalloc.process.glibc.state import find_libcs
from simalloc.process.glibc.trim import predict_trim

WAYS = ("threads", "mappings", "pieces", "foreign", "fork")
THREADS = 3
OF_THREADS = range(264, 313)
"""Usable sizes of the blocks that `pthread_create` allocates for a thread."""


@dataclass
class Examined:
    target: Target
    process: LiveProcess
    residents: list
    snapshot: Snapshot
    heap: Heap
    end: int


def anonymous(process):
    """Return the resident bytes of memory without a file; reading a process must add none."""
    return [pair for pair in process.residents([]) if pair[0].anonymous]


@pytest.fixture(
    scope="module",
    params=[(way, how) for how in ("", "-static", *libcs()) for way in WAYS],
    ids=lambda pair: f"{pair[0]}-{Path(pair[1]).name or 'dynamic'}",
)
def examined(request, compiled):
    way, how = request.param
    with running(compiled("blocks", how), way) as target:
        process = LiveProcess(target.process)
        residents = anonymous(process)
        snapshot = take_snapshot(process)
        (heap,) = capture(process).heaps
        yield Examined(
            target, process, residents, snapshot, heap, break_end(process, heap.parameters)
        )


def test_every_block_is_found_and_none_more(examined):
    blocks = examined.snapshot.blocks
    live = np.isin(blocks.state, (LIVE, MAPPED_ALONE))
    found = dict(zip(blocks.address[live].tolist(), blocks.usable[live].tolist(), strict=True))
    blocks = examined.target.blocks
    first = min(blocks)
    more = [size for at, size in found.items() if at not in blocks and at > first]
    assert {address: found.get(address) for address in blocks} == blocks
    assert len(more) <= THREADS  # a static program allocates blocks below its first block
    assert all(size in OF_THREADS for size in more)
    assert not examined.snapshot.problems, examined.snapshot.problems


def test_it_is_neither_stopped_nor_touched(examined):
    assert not examined.snapshot.pauses.stops
    assert anonymous(examined.process) == examined.residents


def test_mallinfo_is_what_the_process_reports(examined):
    if examined.target.mallinfo:  # version 2.33 or newer
        assert list(examined.snapshot.mallinfo.values()) == examined.target.mallinfo


def test_arenas_are_what_malloc_info_reports(examined):
    assert len(examined.target.heaps) == len(examined.heap.arenas)
    for arena, text in zip(examined.heap.arenas, examined.target.heaps, strict=True):
        info = arena_info(arena.walk, main=arena.main)
        lines = re.findall(r'<(\w+) type="(\w+)"(?: count="(\d+)")? size="(\d+)"/>', text)
        found = {
            ("total", "fast"): (str(info.fast_count), info.fast_size),
            ("total", "rest"): (str(info.rest_count), info.rest_size),
            ("system", "current"): ("", info.system_current),
            ("system", "max"): ("", info.system_max),
            ("aspace", "total"): ("", info.aspace_total),
            ("aspace", "mprotect"): ("", info.aspace_mprotect),
            ("aspace", "subheaps"): ("", info.subheaps),
        }
        for element, kind, count, size in lines:
            assert found[element, kind] == (count, int(size))


def test_parts_add_up_to_what_malloc_has_from_the_system(examined):
    snapshot = examined.snapshot
    for part in snapshot.parts:
        named = ("live", "headers", "tables", "tcache", "fastbin", "bins", "top", "holes")
        assert sum(getattr(part, name) for name in named) == part.bytes
        assert part.trimmable + part.kept <= part.free_resident
    # A free chunk's own header keeps the free bytes in a page without a live block.
    kept = sum(keeper.kept for keeper in snapshot.keepers)
    assert 0 < kept <= snapshot.total("kept") + len(snapshot.keepers)


def test_a_trim_returns_the_pages_that_were_predicted(examined):
    process, heap = examined.process, examined.heap
    expected, falls = {}, 0
    for arena in heap.arenas:
        limit = examined.end if arena.main and arena.state.contiguous else None
        trim = predict_trim(arena.walk, heap.parameters, limit)
        falls += trim.break_falls
        for region in arena.walk.regions:
            expected[region.start, region.end] = (region.pages != 0) & ~trim.returned[region.start]
    answer = examined.target.ask("trim")
    for (start, end), pages in expected.items():
        assert np.array_equal(process.pages(start, end) != 0, pages)
    if falls:
        assert int(answer[1], 16) == examined.end - falls


@pytest.mark.parametrize("words", [(), ("blocked",)], ids=["free", "blocked"])
def test_a_second_libc_has_a_heap_of_its_own(compiled, words):
    with running(compiled("two_libcs"), *words) as target:
        snapshot = take_snapshot(LiveProcess(target.process))
    blocks = snapshot.blocks
    live = np.isin(blocks.state, (LIVE, MAPPED_ALONE))
    found = dict(zip(blocks.address[live].tolist(), blocks.usable[live].tolist(), strict=True))
    assert {address: found.get(address) for address in target.blocks} == target.blocks
    crossed = {int(address, 16) for address in re.findall(r"crossed (\S+)", target.xml)}
    assert len(crossed) == 6
    assert not crossed & set(found), "a block in the cache of the other malloc is free"
    assert len(found) < len(target.blocks) + 40  # of dlmopen and pthread_create, too
    assert not snapshot.problems
    assert snapshot.parts[0].live < snapshot.total("live")


@pytest.mark.parametrize("field", ["a bin", "the maximum"])
def test_a_main_arena_is_found_while_a_thread_changes_it(compiled, monkeypatch, field):
    whole = LiveProcess.region
    torn = []

    def amid_a_change(process, start, end, old=None):
        region = whole(process, start, end, old)
        if start <= arena < end:
            words = region.words[(arena - region.start) // 8 :]
            last = layout.bins // 8 + 2 * (BINS - 1)
            assert words[last] == words[last + 1], "the bin is empty"
            if field == "a bin":
                words[last] ^= np.uint64(16)
            else:
                words[layout.system_mem // 8] = words[layout.system_mem // 8 + 1] + np.uint64(4096)
            torn.append(last)
        return region

    with running(compiled("blocks", ""), "threads") as target:
        process = LiveProcess(target.process)
        (libc,) = find_libcs(process, process.mappings())
        arena, layout = libc.arena, libc.layout
        monkeypatch.setattr(LiveProcess, "region", amid_a_change)
        assert [one.arena for one in find_libcs(process, process.mappings())] == [arena]
    assert torn


@pytest.mark.parametrize("how", ["", "-static"])
def test_thread_caches_are_found_behind_many_thread_local_variables(compiled, how):
    with running(compiled("local", how)) as target:
        snapshot = take_snapshot(LiveProcess(target.process))
    assert not snapshot.problems
    assert sum(part.tcache > 0 for part in snapshot.parts) == 2  # the arenas of both threads
