"""Lists without an end, threads that come and go, and a process whose libc is gone."""

import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from core_writer import damaged, write_core
from process_programs import running

from simalloc.process import CoreFile, LiveProcess, ProcessError, take_snapshot
from simalloc.process.glibc.capture import capture


@pytest.fixture(scope="module")
def core(compiled, tmp_path_factory):
    path = tmp_path_factory.mktemp("core") / "core"
    with running(compiled("continued"), "1") as told:
        write_core(path, LiveProcess(told.process))
    return path


def word_of(core, address):
    """Return which word of a core file has an address."""
    one = next(one for one in core._segments if one.start <= address < one.end)
    return (one.offset + address - one.start) // 8


def cyclic(core, kind):
    """Return a word of a list, and the value that leads back to its own chunk."""
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


def test_threads_that_come_and_go_break_no_sum(compiled):
    with running(compiled("comings")) as told:
        for _ in range(12):
            snapshot = take_snapshot(LiveProcess(told.process))
            assert not snapshot.problems
            for part in snapshot.parts:
                kinds = (part.live, part.headers, part.tables, part.tcache, part.fastbin)
                assert sum(kinds) + part.bins + part.top + part.holes == part.bytes


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its root")
def test_a_process_in_a_chroot_whose_libc_was_deleted(compiled, tmp_path):
    program = compiled("blocks")
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
    names = ("libc.so.6", "ld-linux-x86-64.so.2")
    libraries = [Path(path) for path in mapped if Path(path).name in names]
    if len(libraries) != len(names):
        pytest.skip("this Python has another C library")
    for library in libraries:
        target = tmp_path / str(library)[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    loader = tmp_path / "lib64" / "ld-linux-x86-64.so.2"
    if not loader.exists():
        loader.parent.mkdir(exist_ok=True)
        shutil.copy(next(one for one in libraries if one.name == loader.name), loader)
    shutil.copy(program, tmp_path / "blocks")
    with running("/blocks", "threads", preexec_fn=lambda: os.chroot(tmp_path)) as told:
        for path in tmp_path.rglob("*.so*"):
            path.unlink()
        snapshot = take_snapshot(LiveProcess(told.process))
        live = np.isin(snapshot.blocks.state, (0, 5))
        usable = dict(
            zip(snapshot.blocks.address[live].tolist(), snapshot.blocks.usable[live].tolist(),
                strict=True)
        )  # fmt: skip
        assert told.blocks.items() <= usable.items()
        assert not snapshot.problems
