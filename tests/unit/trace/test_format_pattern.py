"""A log in a user's own format, read by regular expressions."""

import pytest
from click.testing import CliRunner

import simalloc
from simalloc.cli import main
from simalloc.errors import TraceError
from simalloc.trace import read_trace
from simalloc.trace.events import Op
from simalloc.trace.formats.pattern import PatternFormat

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC

# Logs without an importer, printed by programs and by tools.
NUMBERED = (
    {"malloc": r"Alloc\((?P<size>\d+)\)", "free": r"Free\((?P<id>\d+)\)"},
    "Alloc(552)\nAlloc(16)\nFree(0)\nAlloc(8)\nFree(2)\n",
    [(M, 0, 552), (M, 1, 16), (F, 0, 0), (M, 2, 8), (F, 2, 0)],
)
UTRACE = (
    {
        "malloc": r"(?P<id>0x\w+) = malloc\((?P<size>\d+)\)",
        "realloc": r"(?P<id>0x\w+) = realloc\((?P<old>0x\w+), (?P<size>\d+)\)",
        "free": r"free\((?P<id>0x\w+)\)",
    },
    (
        "7 a USER 0x20 = malloc(10)\n7 a USER 0x30 = realloc(0x20, 99)\n"
        "7 a USER 0x40 = realloc(0x0, 4)\n7 a USER 0x0 = malloc(999)\n7 a USER free(0x30)\n"
    ),
    [(M, 0, 10), (R, 0, 99), (M, 1, 4), (F, 0, 0)],
)
WRAPPER = (
    {
        "malloc": r"[mc]alloc\((?:(?P<count>\d+), )?(?P<size>\d+)\) = (?P<id>\w+)",
        "realloc": r"realloc\((?P<old>[^,]+), (?P<size>\d+)\) = (?P<id>\w+)",
        "free": r"free\((?P<id>.*)\)",
    },
    (
        "malloc(24) = 0x10\ncalloc(4, 16) = 0x40\nrealloc(0x10, 64) = 0x80\n"
        "realloc(NULL, 12) = 0x20\nfree(0x40)\nfree((nil))\nrealloc(0x80, 0) = 0x0\n"
    ),
    [(M, 0, 24), (M, 1, 64), (R, 0, 64), (M, 2, 12), (F, 1, 0), (F, 0, 0)],
)
CSV = (
    {
        "malloc": r',Alloc,(?P<id>\w+),"?(?P<size>[\d,]+)"?,',
        "free": r",Free,(?P<id>\w+)",
        "ignore": "^Time,",
    },
    (
        'Time,Event,Address,Size,Label\r\n0.1,Alloc,0x1F,128,"a, b"\r\n'
        '0.2,Alloc,0x2F,"4,096",c\r\n0.3,Free,0x1F,0,"a, b"\r\n'
    ),
    [(M, 0, 128), (M, 1, 4096), (F, 0, 0)],
)
TCMALLOC = (
    {
        "malloc": r"MALLOC: size=(?P<size>\d+) ptr=(?P<id>\w+) tid=(?P<thread>\d+)",
        "free": r"FREE: ptr=(?P<id>\w+) tid=(?P<thread>\d+)",
        "end": r"EXIT: tid=(?P<thread>\d+)",
    },
    (
        "I1 a.cc:1] MALLOC: size=128 ptr=7f001000 tid=5\n"
        "I1 a.cc:2] FREE: ptr=7f001000 tid=6\nEXIT: tid=5\n"
    ),
    [(M, 0, 128), (F, 0, 0), (Op.THREAD_END, -1, 0)],
)
BOARD = (
    {"malloc": r"^A (?P<id>\w+) (?P<hexsize>\w+)", "free": r"^F (?P<id>\w+)"},
    "A 20001a40 40\nA 20001a80 1f8\nF 20001a40\n",
    [(M, 0, 0x40), (M, 1, 0x1F8), (F, 0, 0)],
)


@pytest.fixture
def read(tmp_path):
    def read_text(text, patterns, **options):
        (tmp_path / "my.log").write_text(text)
        return simalloc.read_log(tmp_path / "my.log", patterns=patterns, **options)

    return read_text


def events(trace):
    return list(zip(trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), strict=True))


@pytest.mark.parametrize(
    ("patterns", "text", "expected"),
    [NUMBERED, UTRACE, WRAPPER, CSV, BOARD],
)
def test_logs_that_no_importer_knows(read, patterns, text, expected):
    assert events(read(text, patterns)) == expected


def test_threads_and_their_ends_are_kept_where_patterns_tell_them(read):
    patterns, text, expected = TCMALLOC
    assert events(read(text, patterns)) == expected
    assert read(text, patterns).thread.tolist() == [0, 1, 0]
    assert read(*UTRACE[1::-1]).thread is None


def test_allocations_that_failed_are_counted(read):
    patterns, text, _ = UTRACE
    assert read(text, patterns).provenance["left_out"] == {"allocations that failed": 1}


def test_a_log_longer_than_a_batch_counts_its_lines(read, monkeypatch):
    monkeypatch.setattr("simalloc.trace.formats.pattern._EVENTS", 60)
    patterns, *_ = NUMBERED
    many = "Alloc(8)\n\n" * 70
    assert len(read(many, patterns)) == 70
    with pytest.raises(TraceError, match=r"line 141: no pattern matches 'hello'.*--ignore"):
        read(many + "hello\n", patterns)
    with pytest.raises(TraceError, match="line 142"):
        read(many + "Alloc(8)\nFree(71)\n", patterns)


def test_what_no_pattern_matches_can_be_skipped(read):
    trace = read("Alloc(8)\nwhat?\n", NUMBERED[0], lenient=True)
    assert trace.provenance["left_out"] == {"lines that no pattern matches": 1}


def test_sizes_may_be_hexadecimal_and_must_be_numbers(read):
    patterns = {"malloc": r"A (?P<size>\S+)", "free": r"F (?P<id>\d+)"}
    assert read("A 0x10\n", patterns).size.tolist() == [16]
    with pytest.raises(TraceError, match=r"line 2.*'many' is not a number"):
        read("A 1\nA many\n", patterns)
    with pytest.raises(TraceError, match=r"line 1: the size '1f8' is not a number; .*<hexsize>"):
        read("A 1f8\n", patterns)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"malloc": "("}, "for malloc is not a regular expression"),
        ({"malloc": "x"}, r"for malloc lacks its group: \(\?P<size>"),
        ({"free": "x"}, r"for free lacks its group: \(\?P<id>"),
        ({"realloc": "(?P<size>x)"}, "for realloc lacks a group"),
        ({"calloc": "x"}, "unknown kind of line 'calloc'"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_an_error(read, change, words):
    with pytest.raises(TraceError, match=words):
        read("", {**NUMBERED[0], **change})


def test_both_patterns_are_needed(read):
    with pytest.raises(TraceError, match="a pattern for free is missing"):
        read("", {"malloc": r"(?P<size>\d+)"})


def test_the_command_takes_a_pattern_for_each_kind_of_line(tmp_path):
    patterns, text, expected = NUMBERED
    (tmp_path / "my.log").write_text(text)
    args = ["import", str(tmp_path / "my.log"), "-o", str(tmp_path / "t.npz")]
    given = [part for kind, regex in patterns.items() for part in (f"--{kind}", regex)]
    result = CliRunner().invoke(main, [*args, "--from", "pattern", *given])
    assert result.exit_code == 0, result.stderr
    assert events(read_trace(tmp_path / "t.npz")) == expected
    wrong = CliRunner().invoke(main, [*args, *given])
    assert wrong.exit_code == 2
    assert "requires --from pattern" in wrong.stderr


COLUMNS = {
    "malloc": r"^A (?P<time>[\d.]+) t(?P<thread>\w+) s(?P<stream>\w+) (?P<id>\w+) (?P<size>\d+)"
    r"(?: by (?P<alignment>\d+))?",
    "free": r"^F (?P<time>[\d.]+) t(?P<thread>\w+) s(?P<stream>\w+) (?P<id>\w+)",
}


def test_times_threads_streams_and_alignments(read):
    trace = read(
        "A 10.5 tmain s7 x 8 by 64\nA 10.500000001 tworker s9 y 16\nF 10.4 tmain s7 x\n", COLUMNS
    )
    assert trace.time.tolist() == [0, 1, 1]
    assert trace.thread.tolist() == [0, 1, 0]
    assert trace.stream.tolist() == [0, 1, 0]
    assert trace.alignment.tolist() == [64, 0, 0]


@pytest.mark.parametrize(
    ("group", "scale"), [("time_ms", 10**6), ("time_us", 1000), ("time_ns", 1)]
)
def test_units_of_time(read, group, scale):
    patterns = {"malloc": rf"m (?P<{group}>\d+) (?P<size>\d+)", "free": r"f (?P<id>\d+)"}
    assert read("m 5 8\nm 7 8\nf 0\n", patterns).time.tolist() == [0, 2 * scale, 2 * scale]


@pytest.mark.parametrize("kind", ["malloc", "free", "realloc", "end"])
def test_a_group_of_an_unknown_name_is_an_error_that_lists_the_known(kind):
    patterns = {"malloc": "m (?P<size>.)", "free": "f (?P<id>.)", "end": "e (?P<thread>.)"}
    patterns["realloc"] = "r (?P<id>.) (?P<size>.)"
    patterns[kind] += " (?P<tid>.)"
    with pytest.raises(
        TraceError, match=rf"for {kind} has an unknown group 'tid'.* among .*thread"
    ):
        PatternFormat(patterns)
    PatternFormat(
        {**patterns, kind: patterns[kind].replace("(?P<tid>.)", ""), "ignore": "(?P<tid>.)"}
    )


def test_the_kernel_s_log_with_a_null_pointer(read):
    """The patterns are from docs/formats.md."""
    lines = (
        "# tracer: nop\n"
        "  init-1 [000] .N.. 0.170000: kmalloc: call_site=c1 ptr=c147dd20 bytes_req=29 x=32\n"
        "  cat-382 [000] ...1 2935.586718: kfree: call_site=c0 ptr=  (null)\n"
        "  cat-382 [000] ...1 2935.586720: kfree: call_site=c0 ptr=c147dd20\n"
    )
    trace = read(lines, KERNEL)
    assert trace.op.tolist() == [M, F]
    assert trace.size.tolist() == [29, 0]
    assert trace.time.tolist() == [0, 2935416720000]


def test_a_board_s_events_exported_as_text(read):
    """The patterns are from docs/formats.md."""
    lines = (
        "Index,Time,Context,Event,Detail\n"
        '12,"0.0027","mqtt","Heap Alloc","64 bytes at 0x3FFB0000"\n'
        '13,"0.0031","ui","Heap Free","0x3FFB0000"\n'
    )
    trace = read(lines, EXPORTED)
    assert trace.op.tolist() == [M, F]
    assert trace.size.tolist() == [64, 0]
    assert trace.thread.tolist() == [0, 1]
    assert trace.time.tolist() == [0, 400_000]


EXPORTED = {
    "ignore": "^Index,",
    "malloc": r'"(?P<time>[\d.]+)","(?P<thread>[^"]*)","Heap Alloc","(?P<size>\d+) bytes at '
    r"(?P<id>\w+)",
    "free": r'"(?P<time>[\d.]+)","(?P<thread>[^"]*)","Heap Free","(?P<id>\w+)',
}


KERNEL = {
    "ignore": "^#",
    "malloc": r"(?P<time>[\d.]+): kmalloc: .*ptr=\s*(?P<id>\S+) .*bytes_req=(?P<size>\d+)",
    "free": r"(?P<time>[\d.]+): kfree: .*ptr=\s*(?P<id>\S+)",
}


@pytest.mark.parametrize("regex", ["(?P<size>a{9999999999})", "(" * 5000, "(?P<size>[[a])["])
def test_a_pattern_that_python_cannot_compile_is_an_error(regex):
    with pytest.raises(TraceError, match="the pattern for malloc is not a regular expression"):
        PatternFormat({"malloc": regex, "free": "(?P<id>a)"})
