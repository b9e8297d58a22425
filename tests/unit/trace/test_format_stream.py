"""Logs as streams of bytes: compression detected by content, damage, and bombs."""

import io
import tracemalloc
from functools import cache

import pytest
import zstandard

from simalloc.errors import TraceError
from simalloc.trace.formats.stream import COMPRESSIONS, LogStream, compressed

TEXT = b"".join(b"m %d %d\n" % (number, number * 7919 % 1000) for number in range(30_000))
by_name = pytest.mark.parametrize("compression", COMPRESSIONS, ids=lambda each: each.name)


@cache
def packed(compression, content=TEXT):
    return b"".join(compressed([content[:1000], content[1000:]], f"x{compression.suffix}"))


def whole(content, name="log"):
    return rest(LogStream(io.BytesIO(content), name))


def rest(stream):
    return b"".join(iter(lambda: stream.read(1 << 16), b""))


@by_name
def test_each_compression_is_told_by_content(compression):
    assert packed(compression).startswith(compression.magic)
    assert whole(packed(compression)) == TEXT
    assert whole(packed(compression), f"log{compression.suffix}") == TEXT


def test_without_compression():
    assert whole(TEXT, "log.txt") == TEXT
    assert b"".join(compressed([TEXT], "log.txt")) == TEXT


@by_name
def test_streams_one_after_another(compression):
    assert whole(packed(compression) + packed(compression, b"f 0\n")) == TEXT + b"f 0\n"


@by_name
def test_a_name_that_says_otherwise_is_an_error(compression):
    with pytest.raises(TraceError, match=f"but is not {compression.name} data"):
        whole(TEXT, f"log{compression.suffix}")
    other = next(each for each in COMPRESSIONS if each is not compression)
    with pytest.raises(TraceError, match=f"but is {other.name} data"):
        whole(packed(other), f"log{compression.suffix}")


@by_name
def test_data_that_is_cut_off_is_an_error(compression):
    content = packed(compression)
    for length in (len(content) // 3, len(content) - 1):
        with pytest.raises(TraceError, match="cut off"):
            whole(content[:length])


@by_name
def test_damaged_data_is_an_error(compression):
    content = bytearray(packed(compression))
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    with pytest.raises(TraceError, match="log: "):
        whole(bytes(content))


@by_name
def test_something_else_behind_the_data_is_an_error(compression):
    with pytest.raises(TraceError, match="something else follows"):
        whole(packed(compression) + b"rest of the line\n")


@by_name
def test_what_stands_before_damage_is_kept_if_lenient(compression):
    content = packed(compression) + packed(compression)
    middle = len(content) * 3 // 4
    for damaged in (content[:middle], content[:middle] + bytes(len(content) - middle)):
        stream = LogStream(io.BytesIO(damaged), "log", lenient=True)
        read = rest(stream)
        assert stream.damaged
        assert read[: len(TEXT)] == TEXT
    stream = LogStream(io.BytesIO(content), "log", lenient=True)
    assert rest(stream) == TEXT + TEXT
    assert not stream.damaged


def test_an_empty_file_is_an_error():
    with pytest.raises(TraceError, match="is empty"):
        LogStream(io.BytesIO(b""), "log")


def test_a_bomb_takes_memory_in_proportion():
    bomb = zstandard.ZstdCompressor(level=19).compress(bytes(1 << 28))
    tracemalloc.start()
    stream = LogStream(io.BytesIO(bomb), "log")
    length = sum(map(len, iter(lambda: stream.read(1 << 16), b"")))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert length == 1 << 28
    assert peak < 3 << 25


def test_peek_and_readline_take_nothing_twice():
    stream = LogStream(io.BytesIO(b"one\ntwo\nrest"), "log")
    assert stream.peek(5) == b"one\nt"
    assert stream.readline() == b"one\n"
    assert stream.readline() == b"two\n"
    assert stream.readline() == b"rest"
    assert stream.readline() == b""
