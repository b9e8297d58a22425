"""Heaps of other allocators."""

import ctypes.util
import os
import re
import sys

import numpy as np
import pytest
from process_programs import running

from simalloc.process import LiveProcess, take_snapshot
from simalloc.process.foreign import jemalloc


def preloaded(compiled, name):
    """Run a program with an allocator; return its own report, and the heap found."""
    library = ctypes.util.find_library(name)
    if library is None:
        pytest.skip(f"{name} is not installed")
    with running(compiled("preloaded"), env={**os.environ, "LD_PRELOAD": library}) as target:
        snapshot = take_snapshot(LiveProcess(target.process))
    (heap,) = snapshot.foreign
    assert heap.allocator.startswith(name)
    assert heap.resident <= snapshot.resident
    said = dict(re.findall(r"^(\w+) (\d+)$", target.xml, re.MULTILINE))
    return {key: int(value) for key, value in said.items()}, heap


def test_jemalloc_has_allocated_what_it_reports(compiled):
    said, heap = preloaded(compiled, "jemalloc")
    assert heap.used == said["allocated"]
    assert said["blocks"] <= heap.blocks < said["blocks"] + 100


def test_mimalloc_has_the_blocks_of_the_program(compiled):
    said, heap = preloaded(compiled, "mimalloc")
    assert said["blocks"] <= heap.blocks <= said["blocks"] + 3  # includes blocks of stdio and dlsym


def test_tcmalloc_has_at_least_the_blocks_of_the_program(compiled):
    said, heap = preloaded(compiled, "tcmalloc")
    assert said["blocks"] <= heap.blocks <= 20_000  # freed blocks are in caches


@pytest.mark.skipif(not (3, 7) <= sys.version_info[:2] <= (3, 13), reason="another layout of pools")
def test_python_has_the_objects_that_it_reports(compiled, tmp_path):
    del compiled
    script = (
        "import os, sys; x = [(i, str(i)) for i in range(30000)]; sys._debugmallocstats();"
        "os.write(1, b'ready %d\\n' % os.getpid()); os.read(0, 1)"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONMALLOC"}
    path = tmp_path / "stats"
    with (
        path.open("w", encoding="ascii") as errors,
        running(sys.executable, "-c", script, env=environment, stderr=errors) as target,
    ):
        snapshot = take_snapshot(LiveProcess(target.process))
    stats = path.read_text("ascii")
    (heap,) = snapshot.foreign
    said = re.search(r"bytes in allocated blocks\s+=\s+([\d,]+)", stats)[1]
    assert heap.used == pytest.approx(int(said.replace(",", "")), abs=2000)
    assert heap.blocks > 60_000


def test_pointers_in_dense_data_are_not_followed_as_the_root_of_jemalloc():
    root = 1 << 18
    words = np.ones(3 * root, np.uint64)
    words[root : 2 * root] = 0
    dense, inside = [0, 7, 3 * root - 1], [root + 4000, 2 * root - 5000]
    words[inside] = 1
    place = np.array(dense + inside)
    found = jemalloc._in_sparse_window(words, place)
    assert found.tolist() == [False] * 3 + [True] * 2
