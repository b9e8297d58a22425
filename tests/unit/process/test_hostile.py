"""Endless lists, starting and ending threads, and a process without its libc file."""

import io
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from core_writer import damaged, write_core
from process_programs import running

from simalloc.process import (
    CoreFile,
    LiveProcess,
    ProcessError,
    save_snapshot,
    take_snapshot,
    write_blocks,
)
from simalloc.process.glibc.capture import capture
from simalloc.process.glibc.chunks import BINNED, LIVE
from simalloc.process.glibc.layouts import BINS, HEAP_HEADERS

WORD_LIMIT = 1 << 64
"""One more than the maximum of a word."""


@pytest.fixture(scope="module")
def core(compiled, tmp_path_factory):
    path = tmp_path_factory.mktemp("core") / "core"
    with running(compiled("continued"), "1") as target:
        write_core(path, LiveProcess(target.process))
    return path


def word_of(core, address):
    """Return the index of the word of a core file at an address."""
    one = next(one for one in core._segments if one.start <= address < one.end)
    return (one.offset + address - one.start) // 8


def cyclic(core, kind):
    """Return a word of a list, and the value that makes it point to its own chunk."""
    found = CoreFile(core)
    ((arena,),) = (heap.arenas for heap in capture(found).heaps)
    masked = capture(found).heaps[0].masked
    if kind == "cache":
        chunk = int(arena.lists.chunk[0])
        place = chunk + 16
        return word_of(found, place), place ^ (place >> 12 if masked else 0)
    state = {"bin": 3, "fast list": 2}[kind]
    chunks = arena.walk.address[arena.walk.kind == state]
    if not len(chunks):
        pytest.skip("this glibc has no such list")
    place = int(chunks[0]) + 16
    if kind == "bin":
        return word_of(found, place), int(chunks[0])
    return word_of(found, place), int(chunks[0]) ^ (place >> 12 if masked else 0)


@pytest.mark.parametrize("kind", ["bin", "cache", "fast list"])
def test_a_list_without_an_end_is_an_error_or_a_problem(core, tmp_path, kind):
    word, value = cyclic(core, kind)
    path = tmp_path / "core"
    path.write_bytes(damaged(core.read_bytes(), np.array([word]), np.array([value], np.uint64)))
    began = time.monotonic()
    try:
        snapshot = take_snapshot(CoreFile(path))
    except ProcessError:
        snapshot = None
    assert time.monotonic() - began < 20
    assert snapshot is None or snapshot.problems


@pytest.fixture(scope="module")
def core_of_threads(compiled, tmp_path_factory):
    path = tmp_path_factory.mktemp("core") / "core"
    with running(compiled("blocks"), "threads") as target:
        write_core(path, LiveProcess(target.process))
    return path


def snapshot_of_damaged(core, words, path):
    """Return the snapshot of a core file with some changed words, or None for an error."""
    places = np.array([word_of(CoreFile(core), address) for address in words])
    values = np.array(list(words.values()), np.uint64)
    path.write_bytes(damaged(core.read_bytes(), places, values))
    began = time.monotonic()
    try:
        return take_snapshot(CoreFile(path))
    except ProcessError:
        return None
    finally:
        assert time.monotonic() - began < 30


def test_a_heap_that_leads_to_itself_is_an_error(core_of_threads, tmp_path):
    (heap,) = capture(CoreFile(core_of_threads)).heaps
    one, other = [arena for arena in heap.arenas if not arena.main][:2]
    (piece,) = other.walk.pieces
    words = {
        one.state.address + one.state.layout.top: piece.start + 4096,
        piece.start: one.state.address,
        piece.start + 8: piece.start,
    }
    snapshot = snapshot_of_damaged(core_of_threads, words, tmp_path / "core")
    assert "The heaps of an arena have no end" in " ".join(snapshot.problems)


def test_a_cache_without_an_end_whose_count_is_huge(core_of_threads, tmp_path):
    (heap,) = capture(CoreFile(core_of_threads)).heaps
    lists = heap.arenas[0].lists
    words = {}
    for table in lists.tables:
        counts = range(table.address, table.address + 2 * table.layout.lists, 8)
        words |= dict.fromkeys(counts, 0 if table.layout.counts_free_places else (1 << 64) - 1)
    link = lists.chunk + np.uint64(16)
    masked = link ^ (link >> np.uint64(12)) if heap.masked else link
    words |= dict(zip(link.tolist(), masked.tolist(), strict=True))
    snapshot = snapshot_of_damaged(core_of_threads, words, tmp_path / "core")
    assert snapshot is None or snapshot.problems


def all_bins_in_one_ring(arena):
    heads = [arena.state.layout.head(arena.state.address, number) for number in range(1, BINS + 1)]
    pairs = zip(heads, [*heads[1:], heads[0]], strict=True)
    return {
        at: value for head, after in pairs for at, value in ((head + 16, after), (after + 24, head))
    }


def two_chunks_in_a_ring(arena):
    one, other = arena.walk.address[arena.walk.kind == BINNED][:2].tolist()
    return {one + 16: other, one + 24: other, other + 16: one, other + 24: one}


def a_chunk_that_ends_before_it_begins(arena):
    live = arena.walk.address[arena.walk.kind == LIVE]
    return {int(live[len(live) // 2]) + 8: WORD_LIMIT - 64 + 1}


def a_chunk_that_ends_at_address_0(arena):
    live = arena.walk.address[arena.walk.kind == LIVE]
    return {int(live[len(live) // 2]) + 8: WORD_LIMIT - int(live[len(live) // 2]) + 1}


def more_bytes_than_addresses(arena):
    place = arena.state.address + arena.state.layout.system_mem
    return {place: WORD_LIMIT - 4096, place + 8: WORD_LIMIT - 1}


def a_top_at_the_last_address(arena):
    return {arena.state.address + arena.state.layout.top: WORD_LIMIT - 16}


def the_next_arena_has_no_address(arena):
    return {arena.state.address + arena.state.layout.next: (1 << 63) + HEAP_HEADERS[0]}


def the_next_arena_is_absent(arena):
    return {arena.state.address + arena.state.layout.next: (1 << 46) + HEAP_HEADERS[0]}


def the_next_arena_is_itself(arena):
    return {arena.state.address + arena.state.layout.next: arena.state.address}


@pytest.mark.parametrize("number", [0, 1], ids=["main", "other"])
@pytest.mark.parametrize(
    "damage",
    [
        all_bins_in_one_ring,
        two_chunks_in_a_ring,
        a_chunk_that_ends_before_it_begins,
        a_chunk_that_ends_at_address_0,
        more_bytes_than_addresses,
        a_top_at_the_last_address,
        the_next_arena_has_no_address,
        the_next_arena_is_absent,
        the_next_arena_is_itself,
    ],
)
def test_a_damaged_arena_is_a_problem(core_of_threads, tmp_path, damage, number):
    (heap,) = capture(CoreFile(core_of_threads)).heaps
    words = damage(heap.arenas[number])
    snapshot = snapshot_of_damaged(core_of_threads, words, tmp_path / "core")
    assert snapshot.problems
    save_snapshot(snapshot, io.BytesIO())
    write_blocks(snapshot, io.StringIO())


def test_a_heap_of_more_writable_bytes_than_addresses_is_a_problem(core_of_threads, tmp_path):
    (heap,) = capture(CoreFile(core_of_threads)).heaps
    (piece,) = heap.arenas[1].walk.pieces
    words = {piece.start + 24: WORD_LIMIT - 1}
    assert snapshot_of_damaged(core_of_threads, words, tmp_path / "core").problems


def test_an_arena_that_is_larger_than_memory(core, tmp_path):
    ((arena,),) = (heap.arenas for heap in capture(CoreFile(core)).heaps)
    state, huge = arena.state, 1 << 46
    start = arena.walk.pieces[0].start
    words = {
        state.address + state.layout.system_mem: huge,
        state.address + state.layout.system_mem + 8: huge,
        state.top + 8: (start + huge - state.top) | 1,
    }
    snapshot = snapshot_of_damaged(core, words, tmp_path / "core")
    assert "too large for a copy" in " ".join(snapshot.problems)


def test_the_time_of_a_search_is_limited(core, monkeypatch):
    found = CoreFile(core)
    monkeypatch.setattr("simalloc.process.target._MIN_SECONDS", -1)
    with pytest.raises(ProcessError, match="longer than any heap of its size needs"):
        take_snapshot(found)
    monkeypatch.undo()
    assert not take_snapshot(found).problems


@pytest.mark.parametrize(("words", "heaps"), [((), 1), (("two",), 2)], ids=["one libc", "two"])
def test_threads_that_come_and_go_break_no_sum(compiled, words, heaps):
    with running(compiled("comings"), *words) as target:
        for _ in range(12):
            snapshot = take_snapshot(LiveProcess(target.process))
            assert not snapshot.problems
            for part in snapshot.parts:
                kinds = (part.live, part.headers, part.tables, part.tcache, part.fastbin)
                assert sum(kinds) + part.bins + part.top + part.holes == part.bytes
        assert len(capture(LiveProcess(target.process)).heaps) == heaps


def libraries_into(folder):
    """Copy the C library and its loader into a folder under their paths; return the copies."""
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
    names = ("libc.so.6", "ld-linux-x86-64.so.2")
    libraries = [Path(path) for path in mapped if Path(path).name in names]
    if len(libraries) != len(names):
        pytest.skip("this Python has another C library")
    copies = [folder / str(library)[1:] for library in sorted(libraries)]
    for library, copy in zip(sorted(libraries), copies, strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, copy)
    return copies


def assert_its_blocks_are_found(target):
    snapshot = take_snapshot(LiveProcess(target.process), content=True)
    blocks = snapshot.blocks
    live = np.isin(blocks.state, (0, 5))
    usable = dict(zip(blocks.address[live].tolist(), blocks.usable[live].tolist(), strict=True))
    assert target.blocks.items() <= usable.items()
    assert not snapshot.problems


def test_a_process_whose_libc_was_replaced_by_another_file(compiled, tmp_path):
    copies = libraries_into(tmp_path)
    loader = next(path for path in copies if path.name.startswith("ld-"))
    paths = ":".join(str(path.parent) for path in copies)
    with running(loader, "--library-path", paths, compiled("blocks"), "threads") as target:
        for path in copies:
            new = path.with_suffix(".new")
            new.write_bytes(b"another version")
            new.replace(path)
        assert any(one.deleted for one in LiveProcess(target.process).mappings())
        assert_its_blocks_are_found(target)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its root")
def test_a_process_in_a_chroot_whose_libc_was_deleted(compiled, tmp_path):
    copies = libraries_into(tmp_path)
    loader = tmp_path / "lib64" / "ld-linux-x86-64.so.2"
    if not loader.exists():
        loader.parent.mkdir(exist_ok=True)
        shutil.copy(next(one for one in copies if one.name == loader.name), loader)
    shutil.copy(compiled("blocks"), tmp_path / "blocks")
    with running("/blocks", "threads", preexec_fn=lambda: os.chroot(tmp_path)) as target:
        for path in tmp_path.rglob("*.so*"):
            path.unlink()
        assert_its_blocks_are_found(target)
