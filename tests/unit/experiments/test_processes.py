"""Memory of a process, read from the kernel's list of mappings, and its stored measurements."""

import runpy
from pathlib import Path

from experiments.threads.processes import PROGRAMS, RECORDED, SETTINGS, processes

SAMPLING = Path(__file__).parents[3] / "experiments" / "threads" / "sampling.py"

SMAPS = """\
555500000000-555500001000 r-xp 00000000 08:01 11                         /srv/program
Rss:                   4 kB
555500010000-555500031000 rw-p 00000000 00:00 0                          [heap]
Rss:                 100 kB
7f0000000000-7f0000200000 rw-p 00000000 00:00 0
Rss:                 500 kB
7f0000200000-7f0004000000 ---p 00000000 00:00 0
Rss:                   0 kB
7f0005000000-7f0005001000 ---p 00000000 00:00 0
Rss:                   0 kB
7f0005001000-7f0005801000 rw-p 00000000 00:00 0
Rss:                   8 kB
7f0006001000-7f0006101000 rw-p 00000000 00:00 0
Rss:                1024 kB
7f0007001000-7f0007004000 rw-p 00000000 00:00 0
Rss:                  12 kB
7f0008000000-7f0008001000 rw-p 00000000 08:01 12                         /lib/libc.so.6
Rss:                   4 kB
7f0008001000-7f0008041000 rw-p 00000000 00:00 0
Rss:                  16 kB
7ffe00000000-7ffe00021000 rw-p 00000000 00:00 0                          [stack]
Rss:                  20 kB
"""


def test_the_heap_is_the_break_the_arenas_and_blocks_mapped_by_themselves():
    heap, whole = runpy.run_path(str(SAMPLING))["resident"](SMAPS)
    assert heap == (100 + 500 + 1024) * 1024
    assert whole == heap + (4 + 8 + 12 + 4 + 16 + 20) * 1024


def test_each_program_was_measured_under_each_setting_and_as_it_was_recorded():
    held = processes()
    settings = [each or "default" for each in SETTINGS]
    assert set(held) == {(name, each) for name in PROGRAMS for each in (*settings, RECORDED)}
    for (_, setting), process in held.items():
        assert min(process.whole) > 0
        assert setting == RECORDED or 0 < max(process.heap) < max(process.whole)
