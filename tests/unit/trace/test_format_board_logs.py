"""Logs that boards' own tools print, in the forms of their documentation."""

import pytest

from simalloc.errors import TraceError
from simalloc.trace import Op
from simalloc.trace.formats.importing import load_log

M, F = Op.MALLOC, Op.FREE

SYSVIEW = """\
Parse trace from '/tmp/heap.svdat'...
[0.002244575] HEAP: Allocated 100 bytes @ 0x3ffaffd8 from task "alloc" on core 0 by:
/home/me/main/app.c:47
/home/me/components/freertos/port.c:355 (discriminator 1)

[0.002405000] LOG: I (264) example: allocated
[0.002563725] HEAP: Freed bytes @ 0x3ffaffd8 from task "free" on core 1 by:
/home/me/main/app.c:31 (discriminator 9)

[1.5] HEAP: Allocated 7 bytes @ 0x3ffaffe0 from task "alloc" on core 0 by:
/home/me/main/app.c:47
Processing completed.
=============== HEAP TRACE REPORT ===============
[1.5] HEAP: Allocated 7 bytes @ 0x3ffaffe0 from task "alloc" on core 0 by:
/home/me/main/app.c:47
Found 7 leaked bytes in 1 blocks.
"""

HEAP_TRACE = """\
I (310) main: tracing
====== Heap Trace: 3 records (8 capacity) ======
    32 bytes (@ 0x3ffaf214, Internal) allocated CPU 0 ccount 0x2e9b7384 caller 0x400d276d:0x400d27c1
0x400d276d: leak_some_memory at /me/main/blink.c:27

0x400d27c1: blink_task at /me/main/blink.c:52
freed by 0x400d2776:0x400d27c1
     8 bytes (@ 0x3ffaf804) allocated CPU 1 ccount 0x2e9b79c0 freed
    16 bytes (@ 0x3ffaf220) allocated CPU 0 ccount 0x2e9b79d0 caller 0x400d276d:0x400d27c1
16 bytes 'leaked' in trace (1 allocations)
"""

ZEPHYR = """\
*** Booting Zephyr OS ***
[00:00:00.010,000] <inf> main: Memory allocated at 0x20001c40, size 24
[00:00:00.020,000] <inf> main: Memory allocated at 0x20001c60, size 100
[00:00:00.030,000] <inf> main: Memory freed at 0x20001c40, size 24
"""

NOTE = "tracing_mark_write: C|5|Heap Usage|96|"
NUTTX = f"""\
netinit-5 [0] 0.105984392: {NOTE}malloc: heap: 0x606000 size:72, address: 0x6070
netinit-5 [0] 0.105990000: sched_switch: prev_comm=netinit
nsh main-4 [0] 3.825169408: {NOTE}free: heap: 0x606000 size:72, address: 0x6070
nsh main-4 [0] 3.825189408: {NOTE}malloc: heap: 0x606000 size:20, address: 0x60f0
"""


@pytest.fixture
def load(tmp_path):
    def load_text(text, **options):
        (tmp_path / "log").write_text(text)
        return load_log(tmp_path / "log", **options)

    return load_text


def test_sysview_has_times_tasks_and_stacks(load):
    trace = load(SYSVIEW)
    assert trace.provenance["format"] == "esp-sysview"
    assert trace.op.tolist() == [M, F, M]
    assert trace.size.tolist() == [100, 0, 7]
    assert trace.time.tolist() == [2244575, 2563725, 1_500_000_000]
    assert trace.thread.tolist() == [0, 1, 0]
    stacks = trace.provenance["stacks"]
    assert stacks["places"][stacks["place"][trace.site[0]]] == [["", "/home/me/main/app.c", 47]]
    assert stacks["place"][trace.site[0]] == stacks["place"][trace.site[2]]


def test_a_heap_trace_says_where_its_frees_were_placed(load):
    trace = load(HEAP_TRACE)
    assert trace.provenance["format"] == "esp-heap-trace"
    assert trace.op.tolist() == [M, M, F, M, F]
    assert trace.object.tolist() == [0, 1, 0, 2, 1]
    assert trace.size.tolist() == [32, 8, 0, 16, 0]
    assert trace.provenance["frees_placed"].startswith("2 frees: before the next overlapping")
    stacks = trace.provenance["stacks"]
    place = stacks["places"][stacks["place"][trace.site[0]]]
    assert place == [["leak_some_memory", "/me/main/blink.c", 27]]


def test_a_block_that_was_never_freed_and_is_overlapped_is_an_error(load):
    twice = "8 bytes (@ 0x3ffaf804) allocated CPU 1 ccount 0x2e9b79c0\n" * 2
    with pytest.raises(TraceError, match="still live"):
        load(twice)
    assert load(twice, lenient=True).objects == 2


def test_zephyr_messages_stand_among_others(load):
    trace = load(ZEPHYR)
    assert trace.provenance["format"] == "zephyr-heap"
    assert trace.op.tolist() == [M, M, F]
    assert trace.size.tolist() == [24, 100, 0]


def test_nuttx_notes_have_times_and_tasks(load):
    trace = load(NUTTX)
    assert trace.provenance["format"] == "nuttx-note"
    assert trace.op.tolist() == [M, F, M]
    assert trace.size.tolist() == [72, 0, 20]
    assert trace.thread.tolist() == [0, 1, 1]
    assert trace.time.tolist() == [105984392, 3825169408, 3825189408]


def test_an_error_names_the_line(load):
    with pytest.raises(TraceError, match=r"line 3: .*0x20001c40.*still live"):
        load(ZEPHYR.replace("at 0x20001c60", "at 0x20001c40"))


@pytest.mark.parametrize("text", [SYSVIEW, ZEPHYR, NUTTX])
def test_addresses_are_not_asked_of_them(load, text, tmp_path):
    (tmp_path / "firmware.elf").write_bytes(b"")
    with pytest.raises(TraceError, match="leave out --elf"):
        load(text, elf=tmp_path / "firmware.elf")
