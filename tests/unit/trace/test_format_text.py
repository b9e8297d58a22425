"""Plain text in both directions, and all its possible errors."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from made_traces import random_events, traces

from simalloc.errors import TraceError
from simalloc.trace import Op, Trace, read_trace, write_trace
from simalloc.trace.catalogue import load
from simalloc.trace.events import allocates
from simalloc.trace.formats.exporting import export_trace
from simalloc.trace.formats.importing import import_log, load_log

SUFFIXES = ("", ".zst", ".gz", ".xz", ".bz2")


def as_text_has_it(trace, name):
    """Return a column of a trace, with 0 for values that the text format does not contain."""
    values = trace.columns.get(name, np.zeros(len(trace), np.int64))
    if name == "alignment":
        return np.where(trace.op == Op.MALLOC, values, 0)
    if name == "stream":
        return np.where(allocates(trace.op) | (trace.op == Op.USE), values, 0)
    return values


@given(trace=traces())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip(trace, tmp_path):
    write_trace(trace, tmp_path / "trace.npz")
    export_trace(tmp_path / "trace.npz", tmp_path / "trace.txt", "text")
    again = load_log(tmp_path / "trace.txt")
    for column in ("op", "object", "size", "slot"):
        assert np.array_equal(getattr(again, column), getattr(trace, column))
    for column in ("alignment", "thread", "time", "stream"):
        assert np.array_equal(as_text_has_it(again, column), as_text_has_it(trace, column))


def test_every_line_of_a_program_with_threads(log, tmp_path):
    text = """m 0 10
t 1
@ 500
c 1 20
l 2 64 30
t 0
f 1
x 1
@ 2000
r 0 40
e
"""
    trace = load_log(log(text))
    ops = [Op.MALLOC, Op.CALLOC, Op.MALLOC, Op.FREE, Op.THREAD_END, Op.REALLOC, Op.EMPTY]
    assert trace.op.tolist() == ops
    assert trace.object.tolist() == [0, 1, 2, 1, -1, 0, -1]
    assert trace.size.tolist() == [10, 20, 30, 0, 0, 40, 0]
    assert trace.alignment.tolist() == [0, 0, 64, 0, 0, 0, 0]
    assert trace.thread.tolist() == [0, 1, 1, 0, 1, 0, 0]
    assert trace.time.tolist() == [0, 500, 500, 500, 500, 2000, 2000]
    assert not trace.is_of_device
    write_trace(trace, tmp_path / "trace.npz")
    export_trace(tmp_path / "trace.npz", tmp_path / "again.txt", "text")
    assert (tmp_path / "again.txt").read_text().split("\n", 1)[1] == f"t 0\n@ 0\n{text}"


def test_an_id_is_another_object_after_its_free(log):
    assert load_log(log("m 0 8\nf 0\nc 0 8\nf 0\n")).object.tolist() == [0, 0, 1, 1]


def test_a_column_may_begin_anywhere(log):
    """A thread may first appear after any number of events, beyond the part read before."""
    trace = load_log(log("m 0 1\nf 0\n" * 300_000 + "t 7\nm 0 1\n"))
    assert trace.thread.tolist() == [0] * 600_000 + [7]


def test_times_before_the_start_cannot_be_told(tmp_path):
    write_trace(Trace.from_events([0], [0], [8], time=[-1]), tmp_path / "trace.npz")
    with pytest.raises(TraceError, match="before the start"):
        export_trace(tmp_path / "trace.npz", tmp_path / "log.txt", "text")
    assert not (tmp_path / "log.txt").exists()


def test_streams_are_told_by_lines(log):
    trace = load_log(log("# d\nm 1 10\ne\nm 2 20 3\nu 1 2\nf 2\n"))
    assert trace.op.tolist() == [Op.MALLOC, Op.EMPTY, Op.MALLOC, Op.USE, Op.FREE]
    assert trace.object.tolist() == [0, -1, 1, 0, 1]
    assert trace.stream.tolist() == [0, 0, 3, 2, 0]
    assert load_log(log("m 1 10\ne\n")).stream is None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip_through_every_compression(suffix, tmp_path):
    trace = Trace.from_events(*random_events(50_000, 1000), name="random")
    write_trace(trace, tmp_path / "trace.npz")
    path = tmp_path / f"log.txt{suffix}"
    export_trace(tmp_path / "trace.npz", path, "text")
    imported = import_log(path, tmp_path / "again.npz")
    again = read_trace(tmp_path / "again.npz")
    assert again.sha256() == trace.sha256() == load(path).sha256()
    assert again.name == "log"
    assert again.provenance == {"log": path.name, "format": "text"}
    assert (imported.totals.events, imported.left_out) == (50_000, {})


def test_comments_blank_lines_and_carriage_returns(log):
    text = "# made by hand\r\n\r\n  # more\n  m 7 10 # ten\r\nm\t8  20#f 7\nr 7 30 \nf 8 \t# gone\n"
    trace = load_log(log(text))
    assert trace.op.tolist() == [Op.MALLOC, Op.MALLOC, Op.REALLOC, Op.FREE]
    assert trace.size.tolist() == [10, 20, 30, 0]
    assert trace.object.tolist() == [0, 1, 0, 1]


def test_comments_alone_are_a_trace_of_nothing(log):
    assert len(load_log(log("# nothing\n"))) == 0


def test_a_log_exports_as_a_log(log, tmp_path):
    export_trace(log("m 9 1\nf 9\n"), tmp_path / "out.txt", "text")
    assert (tmp_path / "out.txt").read_text() == "# 'log.txt': 2 events, 1 object\nm 0 1\nf 0\n"


MISTAKES = [
    ("m 0 8\nz 0 8\n", 2, "does not begin like a line"),
    ("m 0 8\nm 1\n", 2, "ends too early"),
    ("m 0 8\nm 1 99999999999999999999\n", 2, "column 5 is too large"),
    ("m 0 8\nm 1 -5\n", 2, "column 5"),
    ("m 0 8\n# c\nf 1\n", 3, "frees object 1, which is not live"),
    ("m 0 8\nf 0\nf 0\n", 3, "frees object 0, which is not live"),
    ("m 0 8\nr 1 8\n", 2, "reallocates object 1"),
    ("m 0 8\nm 0 8\n", 2, "allocates object 0, which is still live"),
    ("m 0 8\nm 1 140737488355329\n", 2, "requests 140737488355329 bytes"),
    ("m 0 8\nt 4294967296\n", 2, "thread is not from 0 to 4294967295"),
    ("m 0 8\nm 1 10", 2, "has no newline at its end"),
]


@pytest.mark.parametrize(("text", "line", "words"), MISTAKES)
def test_a_mistake_is_an_error_with_its_line(log, tmp_path, text, line, words):
    path = log(text)
    with pytest.raises(TraceError, match=words) as caught:
        import_log(path, tmp_path / "trace.npz")
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert [file.name for file in tmp_path.iterdir()] == ["log.txt"]


@pytest.mark.parametrize(("text", "line", "words"), MISTAKES)
def test_a_mistake_is_skipped_and_counted_if_lenient(log, tmp_path, text, line, words):
    del words
    imported = import_log(log(text), tmp_path / "trace.npz", lenient=True)
    (tally,) = imported.left_out.values()
    assert (tally.count, tally.first_line) == (1, line)
    trace = read_trace(tmp_path / "trace.npz")
    assert trace.size[0] == 8
    assert sum(trace.provenance["left_out"].values()) == 1


def test_a_key_given_out_twice_frees_what_held_it_if_lenient(log):
    trace = load_log(log("m 5 8\nm 5 9\nm 6 1\nf 5\n"), lenient=True)
    assert trace.op.tolist() == [Op.MALLOC, Op.FREE, Op.MALLOC, Op.MALLOC, Op.FREE]
    assert trace.object.tolist() == [0, 0, 1, 2, 1]


def test_many_mistakes_are_skipped_in_reasonable_time(log):
    trace = load_log(log("f 1\n" * 100_000 + "m 1 8\n"), lenient=True)
    assert len(trace) == 1
    assert trace.provenance["left_out"] == {"frees of unknown objects": 100_000}


def test_what_is_like_no_format_is_an_error(log):
    with pytest.raises(TraceError, match="is in an unknown format: it begins with 'Dear"):
        load_log(log("Dear Sir,\n"))
    with pytest.raises(TraceError, match="is empty"):
        load_log(log(""))
    with pytest.raises(TraceError, match="save it as UTF-8 without a byte order mark"):
        load_log(log("m 0 8\n".encode("utf-16")))
    with pytest.raises(TraceError, match="the zip archive cannot be read"):
        load_log(log(b"PK\3\4 and so on"))
    with pytest.raises(TraceError, match="unknown format 'nonsense'"):
        load_log(log("m 0 1\n"), from_format="nonsense")


@pytest.mark.parametrize(
    "line",
    [
        "I (312) main: Free heap: 177725 bytes, largest block: 96087",
        "heap_free=20480 min=18000",
        "xPortGetFreeHeapSize() = 8120",
    ],
)
def test_a_log_of_free_bytes_alone_names_the_recorder(log, line):
    with pytest.raises(TraceError, match=r"free bytes; a trace requires every malloc.*boards\.md"):
        load_log(log(line + "\n"))


def test_the_format_can_be_forced(log):
    with pytest.raises(TraceError, match="line 1"):
        load_log(log("Dear Sir,\n"), from_format="text")


def test_an_import_streams(tmp_path):
    op, key, size = random_events(3 << 18, 1000)
    write_trace(Trace.from_events(op, key, size), tmp_path / "trace.npz")
    export_trace(tmp_path / "trace.npz", tmp_path / "log.txt.zst", "text")
    shares = []
    import_log(tmp_path / "log.txt.zst", tmp_path / "again.npz", progress=shares.append)
    assert (
        read_trace(tmp_path / "again.npz").sha256() == read_trace(tmp_path / "trace.npz").sha256()
    )
    assert len(shares) > 10
    assert sum(shares) == pytest.approx(1)
