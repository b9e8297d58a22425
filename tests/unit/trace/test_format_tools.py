"""The logs of other tools: the meaning of each line, and logs that the real tools wrote."""

import os
from pathlib import Path

import pytest

from simalloc.errors import TraceError
from simalloc.policy.families.ptmalloc import Ptmalloc
from simalloc.trace import read_trace, write_trace
from simalloc.trace.events import OPTIONAL_COLUMNS, Op
from simalloc.trace.formats.importing import import_log, load_log
from simalloc.trace.formats.pattern import PatternFormat
from simalloc.trace.sites import site_name

LOGS = Path(__file__).parents[2] / "data" / "logs"
M, F, R, C, X = Op.MALLOC, Op.FREE, Op.REALLOC, Op.CALLOC, Op.THREAD_END


@pytest.fixture
def load(tmp_path):
    """Return a function that reads a text as a log."""

    def load_text(text, **options):
        path = tmp_path / "log"
        path.write_text(text)
        return load_log(path, **options)

    return load_text


def events(trace):
    return list(zip(trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), strict=True))


@pytest.mark.parametrize(
    "line",
    [
        "--7-- malloc({size}) = {key}",
        "--7-- calloc(2,{size}) = {key}",
        "--7-- calloc({size},2) = {key}",
        "--7-- realloc(0x10,{size}) = {key}",
        "malloc({size}) = {key}",
        "calloc({size}, 1) = {key}",
        "1 1 malloc({size})={key}",
        "1: malloc {key} {size}",
    ],
)
@pytest.mark.parametrize("size", [2**63, 2**64 - 1])
def test_a_request_that_no_memory_could_hold_is_left_out_if_it_failed(load, line, size):
    small = line.replace("0x10", "0x0").format(size=8, key="0x10")
    failed = load(f"{small}\n{line.format(size=size, key='0x0')}\n")
    assert len(failed) == 1
    assert failed.provenance["left_out"] == {"allocations that failed": 1}
    with pytest.raises(TraceError, match=r"requests \d+ bytes; sizes are from"):
        load(f"{small}\n{line.format(size=size, key='0x20')}\n")


def test_valgrind_ends_no_line_behind_a_calloc_that_overflows(load):
    trace = load(
        "--7-- calloc(18446744073709551615,2)malloc(50) = 0x10\n"
        "--7-- calloc(3,4)calloc(5,6)calloc(3,4) = 0x20\n"
        "--7-- calloc(3,4)free(0x10)\n"
        "--7-- malloc(18446744073709551615)Argument 'size' of function malloc has a fishy value\n"
        "==7==    at 0x48: malloc\n"
        "--7--  = 0x0\n"
        "--7-- calloc(3,4)realloc(0x20,7) = 0x30\n"
    )
    assert events(trace) == [(M, 0, 50), (C, 1, 12), (F, 0, 0), (R, 1, 7)]
    assert trace.provenance["left_out"] == {"allocations that failed": 6}


def test_a_call_that_valgrind_could_not_have_written_is_an_error(load):
    for call in ("calloc(3,4)", "calloc(3,4)malloc(5", "malloc(5) = ", "_Znwm(x) = 0x10"):
        with pytest.raises(TraceError, match="line 2"):
            load(f"--7-- malloc(8) = 0x40\n--7-- {call}\n")


MTRACE = """\
= Start
@ ./a b:(main+0x1c)[0x12aa] + 0x10 0x64
@ ./a b:(main+0x1c)[0x12aa] + 0x20 0
@ ./other[0x12aa] < 0x10
@ ./other[0x12aa] > 0x30 0x80
@ ./other[0x12aa] + (nil) 0x4000000000000000
@ ./other[0x12aa] ! 0x30 0x2000000000000000
- 0x20
= End
"""
VALGRIND = """\
==7== Memcheck, a memory error detector
--7-- malloc(100) = 0x10
--7-- calloc(3,7) = 0x20
--7-- realloc(0x10,200) = 0x30
--7-- realloc(0x0,30)malloc(30) = 0x40
--7-- realloc(0x30,0)free(0x30)
--7--  = 0
--7-- memalign(al 256, size 500) = 0x50
--7-- _Znwm(8) = 0x60
--7-- _ZnamSt11align_val_t(size 384, al 64) = 0x70
--7-- _ZdlPvm(0x60)
--7-- malloc(4611686018427387904) = 0x0
--7-- malloc_usable_size(0x70) = 384
--7-- free(0x0)
"""
LTRACE = """\
a->malloc(100)                                   = 0x10
a->calloc(3, 7)                                  = 0x20
a->strlen("malloc(8) = 0x90")                    = 16
a->realloc(0x10, 0x30d40, 1)                     = 0x30
a->realloc(0, 5)                                 = 0x40
a->realloc(0x40, 0)                              = 0
a->memalign(256, 500, 0x557e6e109, 1)            = 0x50
a->posix_memalign(0x7fff, 4096, 77, 2)           = 0
libstdc++.so.6->_Znwm(31, 0x7ffc, 0, 1 <unfinished ...>
libstdc++.so.6->malloc(31)                       = 0x60
<... _Znwm resumed> )                            = 0x60
a->_ZdlPv(0x60, 1, 2, 3 <unfinished ...>
libstdc++.so.6->free(0x60)                       = <void>
<... _ZdlPv resumed> )                           = <void>
a->free(0)                                       = <void>
a->free(0x20)                                    = <void>
+++ exited (status 0) +++
"""
LTRACE_THREADS = """\
5 1795242948.321293 a->malloc(8 <unfinished ...>
6 1795242948.321294 a->malloc(9)    = 0x20 <0.000123>
5 1795242948.321295 <... malloc resumed> ) = 0x10
6 1795242949.321296 a->free(0x20 <unfinished ...>
5 1795242949.321297 a->free(0x10)   = <void>
6 1795242949.321298 <... free resumed> ) = <void>
"""
HEAPTRACK = """\
v 10400 3
X ./a b
I 1000 5e2990
m 1 x 55750ec76000 0 9c0
t 7f57ef9dcb9f 0
+ 64 1 55753d13d530
c a
- 55753d13d530
+ 10 2 f0000000
c 14
R 3f9
- f0000000
"""
LOGALLOC = """\
7 8 malloc(32)=0x10
7 8 calloc(3,7)=0x20
7 9 realloc(0x10,64)=0x30
7 9 posix_memalign(256,240)=0x40
7 9 free(0x20)
7 9 free(0x0)
7 9 jemalloc_stats()
7 8 valloc(5)=#77
"""
REPLAY = """\
12: malloc 0x10 100
12: calloc 0x20 3 7
13: realloc 0x30 0x10 200
13: memalign 0x40 256 50
13: free 0x20
13: free 0x0
13: thread_done 0x0
"""
TIMED_REPLAY = """\
12: malloc 0x10 100 1000000 1000020
13: realloc 0x30 0x10 200 1000500 1000900
13: free 0x30 1000950 1000960
13: thread_done 0x0 1000990
"""

SAMPLES = [
    (
        "gabber",
        "Allocate 0x10 8\nAllocate f0 9\nFree 0x10\n",
        [(M, 0, 8), (M, 1, 9), (F, 0, 0)],
        {},
    ),
    ("gabber", "Allocate 10 8\nFree 10\n", [(M, 0, 8), (F, 0, 0)], {}),
    (
        "rep",
        "20000\n2\n6\n1\na 0 512\na 1 128\nr 0 640\nf -1\nf 1\nf 0\n",
        [(M, 0, 512), (M, 1, 128), (R, 0, 640), (F, 1, 0), (F, 0, 0)],
        {},
    ),
    (
        "mtrace",
        MTRACE,
        [(M, 0, 100), (M, 1, 0), (R, 0, 128), (F, 1, 0)],
        {"site": [1, 1, 2, 0]},
    ),
    (
        "valgrind",
        VALGRIND,
        [
            *[(M, 0, 100), (C, 1, 21), (R, 0, 200), (M, 2, 30), (F, 0, 0), (M, 3, 500)],
            *[(M, 4, 8), (M, 5, 384), (F, 4, 0)],
        ],
        {"alignment": [0, 0, 0, 0, 0, 256, 0, 64, 0]},
    ),
    (
        "ltrace",
        LTRACE,
        [
            *[(M, 0, 100), (C, 1, 21), (R, 0, 200_000), (M, 2, 5), (F, 2, 0), (M, 3, 500)],
            *[(M, 4, 31), (F, 4, 0), (F, 1, 0)],
        ],
        {"alignment": [0, 0, 0, 0, 0, 256, 0, 0, 0]},
    ),
    (
        "ltrace",
        LTRACE_THREADS,
        [(M, 0, 9), (M, 1, 8), (F, 0, 0), (F, 1, 0)],
        {
            "alignment": [0] * 4,
            "thread": [6, 5, 6, 5],
            "time": [0, 1000, 1_000_002_000, 1_000_003_000],
        },
    ),
    (
        "heaptrack",
        HEAPTRACK,
        [(M, 0, 100), (F, 0, 0), (M, 1, 16), (F, 1, 0)],
        {"time": [0, 10_000_000, 10_000_000, 20_000_000], "site": [1, 0, 2, 0]},
    ),
    (
        "logalloc",
        LOGALLOC,
        [(M, 0, 32), (C, 1, 21), (R, 0, 64), (M, 2, 240), (F, 1, 0), (M, 3, 5)],
        {"alignment": [0, 0, 0, 256, 0, 0], "thread": [8, 8, 9, 9, 9, 8]},
    ),
    (
        "memory_replay",
        REPLAY,
        [(M, 0, 100), (C, 1, 21), (R, 0, 200), (M, 2, 50), (F, 1, 0), (X, -1, 0)],
        {"alignment": [0, 0, 0, 256, 0, 0], "thread": [12, 12, 13, 13, 13, 13]},
    ),
    (
        "memory_replay",
        TIMED_REPLAY,
        [(M, 0, 100), (R, 0, 200), (F, 0, 0), (X, -1, 0)],
        {"alignment": [0] * 4, "thread": [12, 13, 13, 13], "time": [0, 500, 950, 990]},
    ),
]


@pytest.mark.parametrize(("name", "text", "expected", "columns"), SAMPLES)
def test_what_the_lines_become(load, name, text, expected, columns):
    trace = load(text)
    assert trace.provenance["format"] == name
    assert events(trace) == expected
    assert {key: values.tolist() for key, values in trace.columns.items()} == columns
    assert all(values.dtype == OPTIONAL_COLUMNS[key] for key, values in trace.columns.items())


MISTAKES = [
    ("Allocate 0x10 8\nFree 0x20\n", 2, "frees object 0x20"),
    ("20000\n2\n3\n1\na 0 512\nf 0\n", 3, "states 3 operations, but the file has 2"),
    ("= Start\n@ a[0x1] > 0x20 0x8\n", 2, "half of a realloc"),
    ("= Start\n@ a[0x1] + 0x20 0x8\n@ a[0x1] < 0x20\n@ a[0x1] - 0x20\n", 4, "half of a realloc"),
    ("= Start\n@ a[0x1] + 0x20 0x8\n@ a[0x1] - 0x20 0x8\n", 3, "column 17"),
    ("--7-- malloc(8) = 0x10\n--7-- malloc(9)hello = 0x20\n", 2, "column 16"),
    ("--7-- malloc(8) = 0x10\nhello\n", 2, "does not begin like"),
    ("--7-- malloc(8) = 0x10\n--8-- malloc(8) = 0x10\n", 2, "the lines before are of process 7"),
    ("--7-- memalign(al 281474976710656, size 5) = 0x10\n", 1, "alignment is not from 0"),
    ("malloc(8) = 0x10\nmalloc(8, hello\n", 2, "column 9"),
    ("v 1 3\n+ 8 1 10\nc ffffffffffffffff\n", 3, "the time is out of range"),
    ("v 1 3\n+ 8 100000000 10\n", 2, "site is not from 0"),
    ("1 1 malloc(8)=0x10\n1 1 malloc(8)\n", 2, "ends too early"),
    ("1 4294967296 malloc(8)=0x10\n", 1, "thread is not from 0"),
    ("12: malloc 0x10 100\n12: malloc 0x20 100 7 8\n", 2, "column 21"),
    ("12: malloc 0x10 8\n12: calloc 0x20 9223372036854775807 3\n", 2, "requests"),
]


@pytest.mark.parametrize(("text", "line", "words"), MISTAKES)
def test_a_mistake_is_an_error_with_its_line(load, text, line, words):
    with pytest.raises(TraceError, match=words) as caught:
        load(text)
    assert caught.value.line == line
    assert "--lenient" in str(caught.value)
    assert sum(load(text, lenient=True).provenance["left_out"].values()) == 1


def test_a_realloc_of_mtrace_over_two_runs_of_rows(load):
    lines = "@ a[0x1] + 0x10 0x8\n@ a[0x1] < 0x10\n@ a[0x1] > 0x20 0x9\n@ a[0x1] - 0x20\n"
    trace = load("= Start\n" + lines * 50_000)  # more than the rows of one run
    assert len(trace) == 150_000
    assert trace.objects == 50_000


HEAPTRACK = """\
v 10400 3
x 9 ./my prog
m 1 x 1000 0 100
m 6 lib.so 2000 0 100 200 50
t 1010 0
t 2020 1
t 30 2
t 2021 9
+ 8 2 55
+ 9 3 66
"""


def test_call_paths_of_heaptrack_have_names(load):
    trace = load(HEAPTRACK)
    assert trace.site.tolist() == [2, 3]
    assert [site_name(trace.provenance, site) for site in range(1, 5)] == [
        "./my prog+0x10",
        "lib.so+0x20 < ./my prog+0x10",
        "0x30 < lib.so+0x20 < ./my prog+0x10",
        "lib.so+0x21",
    ]


def test_modules_of_heaptrack_that_are_none_are_passed_over(load):
    text = HEAPTRACK.replace("m 6 lib.so 2000", "m 6 lib.so zzz").replace("m 1 x", "m fffff x")
    assert site_name(load(text).provenance, 2) == "0x2020 < 0x1010"


def test_callers_of_mtrace_have_names(load):
    text = MTRACE + "@ ./x:(f+1)[0x1] + 0x77 1\n"
    trace = load(text, lenient=True)
    names = trace.provenance["sites"]
    assert names == ["", "./a b:(main+0x1c)[0x12aa]", "./other[0x12aa]", "./x:(f+1)[0x1]"]
    assert [names[site] for site in trace.site[:3]] == [names[1], names[1], names[2]]


def test_names_are_no_more_than_a_header_holds(load, tmp_path):
    lines = (f"@ ./{'a' * 400}[{place:#x}] + {16 * place:#x} 8\n" for place in range(1, 70_000))
    text = "".join(lines)
    trace = load(text)
    assert len(set(trace.site.tolist())) == 69_999
    names = trace.provenance["sites"]
    assert sum(map(len, names)) < 9_000_000
    assert site_name(trace.provenance, 69_999) == "site 69999"
    assert site_name(trace.provenance, 1) == names[1]
    assert site_name(trace.provenance, 0) == "unknown"
    write_trace(trace, tmp_path / "trace.npz")
    assert read_trace(tmp_path / "trace.npz").provenance["sites"] == names


LTRACE_ENTRIES = """\
malloc@libc.so.6(6)                              = 0x10
_ZnwmSt11align_val_t@libstdc++.so.6(8, 64)       = 0x40
strlen@libc.so.6("malloc(8) = 0x90")             = 16
realloc@libc.so.6(0x10, 1600 <unfinished ...>
malloc@libc.so.6(1600)                           = 0x90
<... realloc resumed> )                          = 0x90
posix_memalign@libc.so.6(0x7fff, 4096, 77, 2)    = 0
free@libc.so.6(0x90)                             = <void>
malloc(5)                                        = 0xa0
"""


def test_entries_of_ltrace(load):
    trace = load(LTRACE_ENTRIES)
    assert events(trace) == [(M, 0, 6), (M, 1, 8), (R, 0, 1600), (F, 0, 0)]
    assert trace.alignment.tolist() == [0, 64, 0, 0]
    with pytest.raises(TraceError, match="line 1"):
        load(LTRACE_ENTRIES.replace("(6)", "(x)"))


def test_no_line_of_ltrace_has_a_call(load):
    with pytest.raises(TraceError, match="is a call of malloc"):
        load("hello\n", from_format="ltrace")


# The programs' sources contain their requests; some tools record more or fewer of them.
REAL = {
    "requests.valgrind": (32, 14, {"allocations that failed": 2}),
    "requests.mtrace": (32, 14, {"allocations that failed": 2}),
    "requests.ltrace": (
        *(28, 11),
        {
            "calls of posix_memalign, whose address ltrace does not show": 1,
            "calls that an allocation makes": 1,
            "allocations that failed": 2,
            "frees of unknown objects": 2,
        },
    ),
    "requests.heaptrack.raw.zst": (
        *(36, 19),
        {
            "frees of unknown objects": 1,
            "lost frees, made up for when the key was given out again": 1,
        },
    ),
    "requests.entries.ltrace": (
        *(31, 13),
        {
            "calls of posix_memalign, whose address ltrace does not show": 1,
            "calls that an allocation makes": 4,
            "allocations that failed": 2,
            "frees of unknown objects": 2,
        },
    ),
    "containers.valgrind": (36, 18, {}),
    "containers.ltrace": (34, 17, {"calls that an allocation makes": 24}),
}


@pytest.mark.parametrize("log", REAL)
def test_logs_of_the_real_tools(log, tmp_path):
    imported = import_log(LOGS / log, tmp_path / "trace.npz", lenient=True)
    left_out = {what: tally.count for what, tally in imported.left_out.items()}
    assert (imported.totals.events, imported.totals.objects, left_out) == REAL[log]


def test_a_log_of_an_attached_heaptrack_begins_with_unknown_frees(load):
    trace = load(HEAPTRACK + "- 77\n- 88\n- 55\n")
    assert trace.op.tolist() == [M, M, F]
    assert trace.provenance["left_out"] == {"frees of unknown objects": 2}
    with pytest.raises(TraceError, match="still live"):
        load(HEAPTRACK + "- 77\n+ 9 3 66\n")


BLOCK_FROM_BEFORE = {
    "ltrace": "free(0x10) = <void>\nmalloc(5) = 0x20\nfree(0x20) = <void>\n",
    "mtrace": "= Start\n- 0x10\n+ 0x20 0x5\n- 0x20\n",
    "rmm": "1,1:2:3.4,free,0x10,9,0\n1,1:2:3.5,allocate,0x20,5,0\n1,1:2:3.6,free,0x20,5,0\n",
    "zephyr-heap": "Memory freed at 0x10, size 9\n"
    "Memory allocated at 0x20, size 5\nMemory freed at 0x20, size 5\n",
    "pattern": "free 0x10\nmalloc 5 -> 0x20\nfree 0x20\n",
}
BY_ID = {"malloc": r"^malloc (?P<size>\d+) -> (?P<id>\w+)", "free": r"^free (?P<id>\w+)"}


@pytest.mark.parametrize("name", BLOCK_FROM_BEFORE)
def test_a_free_of_a_block_from_before_the_log_is_counted(load, name):
    trace = load(
        BLOCK_FROM_BEFORE[name],
        from_format=PatternFormat(BY_ID) if name == "pattern" else name,
    )
    assert events(trace) == [(M, 0, 5), (F, 0, 0)]
    assert trace.provenance["left_out"] == {"frees of unknown objects": 1}


def test_a_module_s_file_is_neither_waited_for_nor_copied(load, tmp_path):
    """A log may name any file: a pipe without a writer, or a file of terabytes."""
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    with large.open("wb") as file:
        file.write(b"\x7fELF\x02\x01" + bytes(34) + (1 << 39).to_bytes(8, "little") + b"\xff" * 16)
        file.truncate(1 << 40)
    for path in (pipe, large):
        named = f"m {len(str(path)):x} {path} 2000"
        text = HEAPTRACK.replace("m 6 lib.so 2000", named)
        assert site_name(load(text).provenance, 2).startswith(f"{path}+0x20")


@pytest.mark.parametrize(("given", "has"), [(None, True), (False, False), (True, True)])
def test_whether_a_log_has_the_blocks_of_threads(tmp_path, given, has):
    target = tmp_path / "out.npz"
    import_log(LOGS / "containers.valgrind", target, lenient=True, thread_blocks=given)
    provenance = read_trace(target).provenance
    assert provenance.get("thread_blocks", False) is has
    policy = Ptmalloc(mechanism=True)
    assert policy.allocates_for_threads(provenance) is not has
    assert policy.allocates_for_threads({})
