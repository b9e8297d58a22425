"""Grammars: the values that each kind of brace accepts, and numbers at the limits."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simalloc.errors import TraceError
from simalloc.trace import Op
from simalloc.trace.formats.grammar import NO_EVENT, Grammar
from simalloc.trace.formats.lines import printed, scan
from simalloc.trace.formats.log import Log
from simalloc.trace.formats.stream import LogStream


def scanned(grammar, text, *, lenient=False):
    log = Log(LogStream(io.BytesIO(text), "log"), lenient)
    rows = []
    for batch in scan(log, grammar):
        columns = [values.tolist() for values in batch.fields.values()]
        rows += list(zip(batch.op.tolist(), *columns, strict=True))
    return rows


@pytest.mark.parametrize(
    ("pattern", "line", "number"),
    [
        ("{n}", b"0", 0),
        ("{n}", b"9223372036854775807", 2**63 - 1),
        ("{n}", b"00000000000000000000012", 12),
        ("{n:u}", b"9223372036854775806", 2**63 - 2),
        ("{n:u}", b"9223372036854775808", 2**63 - 1),
        ("{n:u}", b"018446744073709551615", 2**63 - 1),
        ("{n:x}", b"ffffffffffffffff", -1),
        ("{n:x}", b"DeadBeef", 0xDEADBEEF),
        ("{n:p}", b"0x10", 16),
        ("{n:p}", b"0X1f", 31),
        ("{n:p}", b"(nil)", 0),
        ("{n:p}", b"#17", 17),
        ("{n:p}", b"7f", 127),
        ("a {n}", b"a \t 5 \t\r", 5),
        ("({n})", b"(5)", 5),
        ("{} {n}", b"word,with:signs 5", 5),
        ("{>]} {n}", b"a b [c] 5", 5),
        ("x{ }{n}{ }{...}", b"x5 and so on", 5),
        ("x{ }{n}{ }{...}", b"x  5", 5),
    ],
)
def test_what_each_brace_takes(pattern, line, number):
    assert scanned(Grammar({pattern: Op.FREE}), line + b"\n") == [(Op.FREE, number)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"m 5", "the line ends too early"),
        (b"m ", "the line ends too early"),
        (b"m x 5", "text at column 3 does not match the format"),
        (b"m 5 -1", "column 5 does not match"),
        (b"m 5 6 7", "column 7 does not match"),
        (b"m5 6", "column 2 does not match"),
        (b"x 5 6", "does not begin like a line"),
        (b"m 5 9223372036854775808", "the number at column 5 is too large"),
        (b"m 5 " + b"9" * 400, "the number at column 5 is too large"),
        (b"u 18446744073709551616", "the number at column 3 is too large"),
        (b"u " + b"9" * 400, "the number at column 3 is too large"),
        (b"p 10000000000000000", "the number at column 3 is too large"),
        (b"p 0xg", "column 3 does not match"),
        (b"\xff\xfe\x00", "does not begin like a line"),
    ],
)
def test_what_is_wrong_with_a_line(line, words):
    grammar = Grammar({"m {key} {size}": Op.MALLOC, "p {key:p}": Op.FREE, "u {size:u}": None})
    with pytest.raises(TraceError, match=words) as caught:
        scanned(grammar, b"m 1 2\n" + line + b"\nm 2 2\n")
    assert caught.value.line == 2
    assert "`m KEY SIZE`, `p KEY`" in str(caught.value)
    expected = [(Op.MALLOC, 1, 2), (NO_EVENT, 0, 0), (Op.MALLOC, 2, 2)]
    assert scanned(grammar, b"m 1 2\n" + line + b"\nm 2 2\n", lenient=True) == expected


def test_fields_that_a_pattern_lacks_have_their_default():
    grammar = Grammar({"a {key} {count}": Op.MALLOC, "b {size}": Op.FREE, "": None})
    assert grammar.fields == ("key", "count", "size")
    rows = scanned(grammar, b"a 7 8\n\nb 9\n")
    assert rows == [(Op.MALLOC, 7, 8, 0), (NO_EVENT, 0, 1, 0), (Op.FREE, 0, 1, 9)]


def test_a_last_line_without_an_end_is_an_error():
    grammar = Grammar({"f {key}": Op.FREE})
    with pytest.raises(TraceError, match="'f 2' has no newline") as caught:
        scanned(grammar, b"f 1\nf 2")
    assert caught.value.line == 2
    assert scanned(grammar, b"f 1\nf 2", lenient=True) == [(Op.FREE, 1)]


def test_a_line_without_end_is_given_up():
    with pytest.raises(TraceError, match="more than 1048576 bytes"):
        scanned(Grammar({"f {key}": Op.FREE}), b"f" * (3 << 20))


def test_lines_are_counted_over_many_batches():
    text = b"f 1\n" * 300_000 + b"g\n"
    with pytest.raises(TraceError) as caught:
        scanned(Grammar({"f {key}": Op.FREE}), text)
    assert caught.value.line == 300_001


NUMBERS = st.one_of(st.integers(0, 100), st.integers(0, 2**63 - 1))


@given(st.lists(st.tuples(st.integers(0, 2), NUMBERS, NUMBERS)))
def test_what_is_printed_is_scanned_again(rows):
    grammar = Grammar({"m {a} {b}": Op.MALLOC, "free({b})": Op.FREE, "{a}": Op.REALLOC})
    kind, a, b = (np.array([row[place] for row in rows], np.int64) for place in range(3))
    text = printed(grammar, kind.astype(np.uint8), a=a, b=b)
    if rows:
        assert scanned(grammar, text) == [
            (op, a if op != Op.FREE else 0, b if op != Op.REALLOC else 0) for op, a, b in rows
        ]
