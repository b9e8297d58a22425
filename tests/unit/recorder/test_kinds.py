"""Resident memory of a process by kind."""

import mmap
import os
import subprocess
import sys

import pytest

from simalloc.trace import read_trace
from simalloc.trace.recorder.kinds import KINDS, kinds_in, smaps

AREAS = """
55d0-65d0 r-xp 00000000 fe:00 42    /usr/bin/program
Rss:                 100 kB
10000000-20000000 rw-p 00000000 00:00 0    [heap]
Rss:                 200 kB
30000000-30001000 ---p 00000000 00:00 0
Rss:                   0 kB
30001000-40000000 rw-p 00000000 00:00 0
Rss:                  30 kB
40000000-50000000 rw-p 00000000 00:00 0    [anon: named]
Rss:                   4 kB
50000000-60000000 ---p 00000000 00:00 0
Rss:                   0 kB
60000000-70000000 rw-p 00000000 00:00 0
Rss:                   5 kB
70000000-70001000 rw-s 00000000 00:01 7    /dev/shm/x
Rss:                   6 kB
7fff0000-7fff1000 rw-p 00000000 00:00 0    [stack]
Rss:                  70 kB
7fff5000-7fff6000 r-xp 00000000 00:00 0    [vdso]
Rss:                   8 kB
"""


@pytest.mark.skipif(mmap.PAGESIZE != 4096, reason="the guard page of the example has 4 KiB")
def test_each_kind_of_area():
    bytes_of = kinds_in(AREAS.splitlines())
    assert {kind: size >> 10 for kind, size in bytes_of.items()} == {
        "heap": 200,
        "anonymous": 9,
        "stacks": 100,
        "files": 100,
        "shared": 6,
        "other": 8,
    }


def test_a_process_that_has_ended_has_none():
    with subprocess.Popen(["true"]) as process:
        process.wait()
        assert smaps(process.pid) == []


def test_memory_that_a_program_maps_itself_is_told_apart_from_files(tmp_path):
    script = (
        "import mmap, time\n"
        "kept = mmap.mmap(-1, 40 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "kept.write(bytes(40 << 20))\n"
        "time.sleep(1)\n"
    )
    command = [sys.executable, "-m", "simalloc", "record", "-o", "out.npz", "--alone", "--"]
    subprocess.run(
        [*command, sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True
    )
    looks = read_trace(tmp_path / "out.npz").provenance["resident_by_kind"]
    assert 1 <= len(looks) <= 2
    time, largest = looks[0]
    assert time > 0
    assert tuple(largest) == KINDS
    assert largest["anonymous"] > 40 << 20
    assert largest["files"] > 1 << 20
    assert largest["stacks"] > 0
    assert os.sysconf("SC_PAGESIZE") <= largest["heap"] < 40 << 20
