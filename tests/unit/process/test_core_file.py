"""Core files, complete and damaged."""

import os
import struct
import time

import numpy as np
import pytest
from core_writer import FILE, PAGE, PRSTATUS, damaged, write_core
from process_programs import running

from simalloc.errors import SimallocError
from simalloc.process import CoreFile, LiveProcess, take_snapshot
from simalloc.process.glibc.capture import capture
from simalloc.process.region import ABSENT

CORES = 60
FS_BASE = 112 + 21 * 8
"""Offset of the register fs_base in NT_PRSTATUS."""


@pytest.fixture(scope="module", params=["few", "threads", "pieces", "mappings"])
def pair(request, compiled, tmp_path_factory):
    """A snapshot of a process, and its core file."""
    path = tmp_path_factory.mktemp("cores") / "core"
    with running(compiled("blocks"), request.param) as target:
        process = LiveProcess(target.process)
        write_core(path, process)
        yield take_snapshot(process), path
    path.unlink()


def columns(snapshot):
    blocks = snapshot.blocks
    return [blocks.address, blocks.usable, blocks.state, blocks.arena]


def test_a_core_file_has_the_blocks_of_the_process(pair):
    live, path = pair
    core = take_snapshot(CoreFile(path))
    assert not core.problems
    for one, other in zip(columns(live), columns(core), strict=True):
        assert np.array_equal(one, other)
    assert core.mallinfo == live.mallinfo
    assert core.total("resident") == 0
    assert core.command == live.command


@pytest.fixture(scope="module")
def whole(compiled, tmp_path_factory):
    path = tmp_path_factory.mktemp("core") / "core"
    with running(compiled("blocks"), "few") as target:
        write_core(path, LiveProcess(target.process))
    return path.read_bytes()


def interesting(path):
    """Return the offsets of words that malloc wrote into a core file: arenas, chunks and tables."""
    core = CoreFile(path)
    (heap,) = capture(core).heaps
    (arena,) = heap.arenas
    words = [np.arange(0, arena.state.layout.size, 8) + arena.state.address]
    chunk = arena.walk.address.astype(np.int64)
    words += [chunk + at for at in (0, 8, 16, 24)]
    words += [np.arange(0, 640, 8) + table.address for table in arena.lists.tables]
    address = np.concatenate(words)
    starts = np.array([one.start for one in core._segments])
    segment = np.searchsorted(starts, address, side="right") - 1
    offsets = np.array([one.offset for one in core._segments])
    return (offsets[segment] + address - starts[segment]) // 8


def test_damage_is_found_and_ends_no_program(whole, tmp_path):
    path = tmp_path / "core"
    path.write_bytes(whole)
    right = take_snapshot(CoreFile(path))
    places = interesting(path)
    values = np.random.default_rng(45)
    found = 0
    for _ in range(CORES):
        which = values.choice(places, 3)
        what = values.integers(0, 1 << 48, 3) * values.integers(0, 2, 3)
        path.write_bytes(damaged(whole, which, what.astype(np.uint64)))
        began = time.perf_counter()
        try:
            snapshot = take_snapshot(CoreFile(path))
        except SimallocError:
            found += 1
            continue
        finally:
            assert time.perf_counter() - began < 30
        if snapshot.problems:
            found += 1
            continue
        for part in snapshot.parts:
            assert part.bytes >= 0
        same = all(map(np.array_equal, columns(right), columns(snapshot)))
        amid = not same and abs(right.count("tcache") - snapshot.count("tcache")) <= 8
        assert same or amid, (which, what)
    assert found > CORES // 4


@pytest.mark.parametrize(
    ("offset", "content", "message"),
    [
        (0, b"junk", "not in ELF"),
        (4, b"\1", "32-bit"),
        (16, struct.pack("<H", 2), "a program or library"),
        (18, struct.pack("<H", 183), "another machine"),
        (32, struct.pack("<Q", 1 << 40), "cut off"),
        (56, struct.pack("<H", 0xFFFE), "cut off"),
    ],
)
def test_a_file_that_is_no_core_file_is_refused(whole, tmp_path, offset, content, message):
    path = tmp_path / "core"
    path.write_bytes(whole[:offset] + content + whole[offset + len(content) :])
    with pytest.raises(SimallocError, match=message):
        take_snapshot(CoreFile(path))


def place_of_note(whole, kind):
    """Return the offset of the head of the first note of a kind in a core file."""
    at, size = (struct.unpack_from("<Q", whole, 64 + field)[0] for field in (8, 32))
    end = at + size
    while at < end:
        name, length, found = struct.unpack_from("<III", whole, at)
        if found == kind:
            return at
        at += 12 + -(-name // 4) * 4 + -(-length // 4) * 4
    raise AssertionError("the core file has no such note")


LYING_NOTES = [
    (FILE, 0, "<I", 0xFFFFFFFF, "a note is cut off"),
    (FILE, 4, "<I", 0x7FFFFFFF, "a note is cut off"),
    (FILE, 4, "<I", 4, "headers end early"),
    (FILE, 20, "<Q", 1 << 63, "list of files is cut off"),
    (FILE, 20, "<Q", 0, "does not list the files that were mapped"),
    (PRSTATUS, 4, "<I", 0xFFFFFFFF, "a note is cut off"),
]


@pytest.mark.parametrize(("kind", "field", "form", "value", "message"), LYING_NOTES)
def test_a_core_file_whose_notes_lie_is_refused(whole, tmp_path, kind, field, form, value, message):
    path, content = tmp_path / "core", bytearray(whole)
    struct.pack_into(form, content, place_of_note(whole, kind) + field, value)
    path.write_bytes(content)
    with pytest.raises(SimallocError, match=message):
        take_snapshot(CoreFile(path))


def test_memory_above_a_programs_addresses_is_left_out(whole, tmp_path):
    path, content = tmp_path / "core", bytearray(whole)
    (count,) = struct.unpack_from("<H", whole, 56)
    last = 64 + 56 * (count - 1)
    struct.pack_into("<Q", content, last + 16, (1 << 64) - (16 << 20))
    path.write_bytes(content)
    core = CoreFile(path)
    assert len(core.mappings()) == count - 2  # the first header describes the notes
    assert take_snapshot(core).parts


@pytest.mark.parametrize("pointer", [1, 4096, 1 << 47, 1 << 63, (1 << 64) - 8])
def test_a_thread_pointer_that_lies_is_not_followed(whole, tmp_path, pointer):
    path, content = tmp_path / "core", bytearray(whole)
    struct.pack_into("<Q", content, place_of_note(whole, PRSTATUS) + 20 + FS_BASE, pointer)
    path.write_bytes(content)
    core = CoreFile(path)
    assert core.threads()[0].pointer is None
    assert "No thread caches were found" in " ".join(take_snapshot(core).problems)


def test_pages_that_the_file_does_not_store_are_absent(whole, tmp_path):
    (count,) = struct.unpack_from("<H", whole, 56)
    last = 64 + 56 * (count - 1)
    start, stored, size = struct.unpack_from("<Q8xQQ", whole, last + 16)
    content = bytearray(whole)
    struct.pack_into("<Q", content, last + 40, size + (1 << 30))
    path = tmp_path / "core"
    path.write_bytes(content)
    core = CoreFile(path)
    pages = core.pages(start, start + size + (1 << 30)) != ABSENT
    assert pages[: stored // PAGE].all()
    assert not pages[stored // PAGE :].any()
    assert (core.pages(start - PAGE, start + PAGE) != ABSENT).tolist()[1:] == [True]
    (tmp_path / "before").write_bytes(whole)
    before = take_snapshot(CoreFile(tmp_path / "before"))
    for one, other in zip(columns(take_snapshot(core)), columns(before), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9])
def test_a_core_file_that_was_cut_off_is_refused(whole, tmp_path, share):
    path = tmp_path / "core"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(SimallocError, match=r"cut off|not a core file|end early"):
        take_snapshot(CoreFile(path))


def test_memory_of_random_bytes_has_no_heap(whole, tmp_path):
    path = tmp_path / "core"
    bytes_ = bytearray(whole)
    (offset,) = struct.unpack_from("<Q", whole, 64 + 56 + 8)
    junk = np.random.default_rng(1).integers(0, 256, len(whole) - offset, np.uint8)
    bytes_[offset:] = junk.tobytes()
    path.write_bytes(bytes_)
    with pytest.raises(SimallocError, match="no heap of glibc"):
        take_snapshot(CoreFile(path))


@pytest.mark.parametrize("share", [0, 0.3, 0.9])
def test_a_core_file_may_be_cut_off_while_it_is_read(whole, tmp_path, share):
    path = tmp_path / "core"
    path.write_bytes(whole)
    core = CoreFile(path)
    os.truncate(path, int(share * len(whole)))
    try:
        snapshot = take_snapshot(core)
    except SimallocError:
        snapshot = None
    assert snapshot is None or len(snapshot.blocks) > 0
