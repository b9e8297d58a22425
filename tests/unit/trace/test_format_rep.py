"""The dialects of the malloc lab's traces."""

import re

import pytest

from simalloc.errors import TraceError
from simalloc.trace.events import Op
from simalloc.trace.formats.importing import load_log

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC


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


HEADER = "20\n2\n4\n1\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "0\n2\n4\n0\nr 0 1000\na 1 16\nf 1\nf 0\n",
            [(M, 0, 1000), (M, 1, 16), (F, 1, 0), (F, 0, 0)],
        ),
        ("2\n4\na 0 64\na 1 448\nf 0\nf 1\n", [(M, 0, 64), (M, 1, 448), (F, 0, 0), (F, 1, 0)]),
        (f"{HEADER}a 0 64\na 1 448\nf 0\nf 1", [(M, 0, 64), (M, 1, 448), (F, 0, 0), (F, 1, 0)]),
        ("10\n1\n3\n0\na 0 100\nr 0 0\na 0 50\n", [(M, 0, 100), (F, 0, 0), (M, 1, 50)]),
        (
            "# a comment\na 1 50\na 2 70\nr 1 99\nf 2\nf 1\n",
            [(M, 0, 50), (M, 1, 70), (R, 0, 99), (F, 1, 0), (F, 0, 0)],
        ),
        ("# one\n\n2\n# two\n3\na 0 8\n# three\nf 0\nr 1 9\n", [(M, 0, 8), (F, 0, 0), (M, 1, 9)]),
        (f"{HEADER}a 0 8\nr 0 0\nf 0\nr 0 0\n", [(M, 0, 8), (F, 0, 0)]),
        (f"{HEADER}r 0 8\nr 0 9\nr 0 0\nr 0 7\n", [(M, 0, 8), (R, 0, 9), (F, 0, 0), (M, 1, 7)]),
        ("a 5 8\nf 5", [(M, 0, 8), (F, 0, 0)]),
        ("20\n2\n2\na 7 8\nf 7\n", [(M, 0, 8), (F, 0, 0)]),  # no weight
        ("20 2 2 1\na 7 8\nf 7\n", [(M, 0, 8), (F, 0, 0)]),
        ("20 # heap\n2\t# ids\n\n2\n1\na 7 8\nf 7\n", [(M, 0, 8), (F, 0, 0)]),
        ("20\n2\n3\n1\na 7 8\nf -1\nf 7\n", [(M, 0, 8), (F, 0, 0)]),  # free(NULL) counts
        ("20\n2\n2\n1\na 7 8\nf -1\nf 7\n", [(M, 0, 8)]),
    ],
)
def test_the_dialects_of_the_malloc_lab(load, text, expected):
    assert events(load(text)) == expected


EVENTS = "a 9 64\nr 9 448\na 1000000 8\nf 9"
EXPECTED = [(M, 0, 64), (R, 0, 448), (M, 1, 8), (F, 0, 0)]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(" ", "\t \t"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.replace("\n", " \n "),
        lambda text: text.replace("\n", "  # a comment\n"),
        lambda text: text.replace("\n", "#a comment\r\n"),
        lambda text: text.replace(" 8\n", " 8 # 9 f 9\n# f 9\n"),
    ],
)
@pytest.mark.parametrize("header", [HEADER, "2\n4\n", ""])
def test_blanks_and_comments_are_free(load, header, change):
    assert events(load(change(header + EVENTS))) == EXPECTED


def test_the_malloc_lab_stops_at_the_header_s_number(load):
    trace = load("20\n2\n2\n1\na 0 8\nf 0\na 1 9\nf 7\n")
    assert events(trace) == [(M, 0, 8), (F, 0, 0)]
    assert trace.provenance["left_out"] == {"operations beyond the header's number": 2}


def test_null_pointers_of_the_malloc_lab_over_many_batches(load):
    """Each id is reallocated from null, then to size 0, and freed, far apart."""
    ids = range(70_000)
    lines = [f"r {n} 8" for n in ids] + [f"r {n} 0" for n in ids] + [f"f {n}" for n in ids]
    trace = load("70000\n210000\n" + "\n".join(lines) + "\n")
    assert trace.op.tolist() == [M] * 70_000 + [F] * 70_000


@pytest.mark.parametrize(
    "text", [f"{HEADER}f 0\n", "20\n2\n2\n1\na 0 8\nf 1\n", "1\n2\n3\na 0 8\n"]
)
def test_what_is_wrong_in_the_malloc_lab_s_files(load, text):
    with pytest.raises(TraceError):
        load(text, from_format="rep")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEADER}a 0 -8\n", "line 5: 'a 0 -8': the text at column 5"),
        (f"{HEADER}a 0 8\nr 0 -1\n", "line 6: 'r 0 -1': the text at column 5"),
        (f"{HEADER}a -2 8\n", "line 5: 'a -2 8': the text at column 3"),
        (f"{HEADER}a 0 8.5\n", "line 5: 'a 0 8.5'"),
        (f"{HEADER}a 0 8 // big\n", "line 5: 'a 0 8 // big'"),
        (f"1\n{HEADER}a 0 8\n", "line 5: the header has 5 numbers; use four, three"),
        ("1\na 0 8\n", "line 1: the header has 1 number;"),
    ],
)
def test_a_wrong_line_is_named_without_naming_the_format(load, text, words):
    with pytest.raises(TraceError, match=re.escape(words)):
        load(text)
