"""Tables of results in each of their formats."""

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simalloc.report import FORMATS, Markdown, Rounded, Table, write_table
from simalloc.report.html import html
from simalloc.report.mappings import mappings_table
from simalloc.report.table import spell, write_richly
from simalloc.report.units import bounded_percent

TABLE = Table(
    "Heaps",
    ("policy", "peak", "share"),
    [("first|fit", 1234567, 0.0164), ("best fit", None, 1.5e9), ("next fit", 8, float("nan"))],
    ("K is 1024 bytes.",),
)


def written(table, form):
    stream = io.StringIO()
    write_table(table, form, stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("x", "x"),
        (0, "0"),
        (-1234567, "-1,234,567"),
        (0.0, "0.000"),
        (1.5, "1.500"),
        (45.8, "45.80"),
        (0.0016403, "0.001640"),
        (123456.7, "123,457"),
        (float("inf"), "inf"),
    ],
)
def test_values_as_people_read_them(value, text):
    assert spell(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Rounded(1.6401, 2), "1.64"),
        (Rounded(13328.4, 0), "13,328"),
        (Rounded(0.05, 2, signed=True), "+0.05"),
        (Rounded(-12.0, 1, signed=True), "-12.0"),
        (Rounded(-0.001, 2, signed=True), "+0.00"),
        (Rounded(-0.001, 2), "0.00"),
    ],
)
def test_rounded_numbers_say_how_they_are_read(value, text):
    assert spell(value) == text


def test_rounded_numbers_are_numbers_and_whole_in_data():
    table = Table("One", ("share",), [(Rounded(1 / 3, 2),)])
    assert table.is_number(0)
    assert json.loads(written(table, "json")) == [{"share": 1 / 3}]
    assert written(table, "csv") == f"share\n{1 / 3!r}\n"
    assert "| 0.33 |" in written(table, "markdown")


def test_json_is_a_list_of_objects_with_numbers_in_full():
    assert json.loads(written(TABLE, "json")) == [
        {"policy": "first|fit", "peak": 1234567, "share": 0.0164},
        {"policy": "best fit", "peak": None, "share": 1.5e9},
        {"policy": "next fit", "peak": 8, "share": None},
    ]


def test_csv_holds_numbers_in_full_and_empty_cells():
    header, first, second, _ = csv.reader(io.StringIO(written(TABLE, "csv")))
    assert header == ["policy", "peak", "share"]
    assert first == ["first|fit", "1234567", "0.0164"]
    assert second[1] == ""


def test_markdown_aligns_numbers_right_and_escapes_bars():
    assert written(TABLE, "markdown").splitlines() == [
        "**Heaps**",
        "",
        "| policy | peak | share |",
        "| --- | ---: | ---: |",
        "| first\\|fit | 1,234,567 | 0.01640 |",
        "| best fit |  | 1,500,000,000 |",
        "| next fit | 8 | nan |",
        "",
        "K is 1024 bytes.",
    ]


def test_markdown_shows_names_as_they_are():
    rows = [("`x`<b>|a\\", "[x](y)"), (Markdown("`mine`"), Markdown("[page](page.md)|"))]
    table = Table("<i>", ("a|b", "c"), rows, ("Of std::vector<int>, see `waste <trace>`.",))
    assert written(table, "markdown").splitlines() == [
        "**\\<i\\>**",
        "",
        "| a\\|b | c |",
        "| --- | --- |",
        "| \\`x\\`\\<b\\>\\|a\\\\ | \\[x](y) |",
        "| `mine` | [page](page.md)\\| |",
        "",
        "Of std::vector\\<int\\>, see `waste <trace>`.",
    ]


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("=cmd|'/C calc'!A0", "'=cmd|'/C calc'!A0"),
        ("@SUM(1)", "'@SUM(1)"),
        ("+1+1", "'+1+1"),
        ("-2+3", "'-2+3"),
        ("\t=1", "'\t=1"),
        ("-", "-"),
        ("-12.5e3", "-12.5e3"),
        ("+7", "+7"),
        (-12, "-12"),
        (-0.5, "-0.5"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_csv_has_no_formulas(cell, shown):
    table = Table("t", (str(cell), "y"), [(cell, 1)])
    header, row = csv.reader(io.StringIO(written(table, "csv")))
    assert header[0] == row[0] == shown


OBEYED = [*map(chr, [*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2066, 0x2028])]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("where", ["title", "column", "cell", "note"])
def test_no_control_character_is_written(form, where):
    for character in OBEYED:
        text = f"evil{character}[31m"
        parts = {"title": "t", "column": "c", "cell": "v", "note": "n", where: text}
        table = Table(parts["title"], (parts["column"],), [(parts["cell"],)], (parts["note"],))
        shown = written(table, form)
        assert not any(one in shown for one in OBEYED)
        if form == "json" and where in {"column", "cell"}:
            ((column, value),) = json.loads(shown)[0].items()
            assert text in {column, value}


def test_control_characters_are_shown_as_python_spells_them():
    table = Table("\x1b]0;title\x07", ("a",), [("red\x1b[31m\r\u202e",)])
    assert written(table, "csv") == "a\nred\\x1b[31m\\r\\u202e\n"
    assert written(table, "table").splitlines()[0].startswith("\\x1b]0;title\\x07")


def test_terminal_table_aligns_numbers_right():
    lines = written(TABLE, "table").splitlines()
    assert lines[0].strip() == "Heaps"
    ends = {
        line.index(number) + len(number)
        for line in lines
        for number in ("1,234,567", " 8 ")
        if number in line
    }
    assert len(ends) == 2
    assert min(ends) + 1 == max(ends), "8 ends where 1,234,567 does, and a space follows"
    assert lines[-1] == "K is 1024 bytes."


def test_terminal_table_folds_text_and_never_numbers_or_names():
    name, number, prose = "n" * 150, 10**60, "word " * 100
    text = written(Table("Wide", ("name", "number", "prose"), [(name, number, prose)]), "table")
    assert name in text
    assert f"{number:,}" in text
    assert text.count("word") == 100


def test_words_are_broken_only_where_they_end():
    rows = [("name", "w" * 40, "tcache_count=0,trim_threshold=64K " * 3)] * 2
    text = written(Table("Wide", ("name", "a column of a name", "prose"), rows), "table")
    assert text.count("tcache_count=0,trim_threshold=64K") == 6
    assert text.count("w" * 40) == 2


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_without_rows(form):
    assert written(Table("None", ("a", "b"), []), form)


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="1 values under 2 columns"):
        Table("t", ("a", "b"), [("only",)])


def test_terminal_never_cuts_numbers_names_or_headings():
    columns = ("policy", *(f"heading {place:04}" for place in range(40)))
    row = ("a policy of a long name", *(1234567 + place for place in range(40)))
    text = written(Table("Wide", columns, [row]), "table")
    assert all(column in text for column in columns)
    assert "a policy of a long name" in text
    assert all(f"{1234567 + place:,}" in text for place in range(40))


LETTERS = st.characters(min_codepoint=9, max_codepoint=300, exclude_categories=["Cc"])
WORDS = st.text(LETTERS | st.just("\n"), max_size=40)
VALUES = st.one_of(st.none(), st.integers(), st.floats(allow_nan=False, width=16), WORDS)


@given(st.data(), st.lists(WORDS, min_size=1, max_size=6), WORDS, st.lists(WORDS, max_size=2))
def test_without_rich_tables_look_as_with_it(data, columns, title, notes):
    rows = data.draw(st.lists(st.tuples(*[VALUES for _ in columns]), max_size=4))
    table, stream = Table(title, columns, rows, notes), io.StringIO()
    write_richly(table, stream)
    assert written(table, "table") == stream.getvalue()


@given(st.lists(st.tuples(*[st.integers(0, 99)] * 3), min_size=1, max_size=4))
def test_simple_tables_do_without_rich(rows):
    """Simple tables, which the drawn tables above rarely are."""
    table, stream = Table("A title", ("one", "two", "three"), rows, ("A note.",)), io.StringIO()
    write_richly(table, stream)
    assert written(table, "table") == stream.getvalue()


def test_commands_in_notes_are_code_in_html():
    table = Table(
        "Ages", ("age",), [(3,)], ("`simalloc run <trace>` says more.", "A ` alone stays.")
    )
    shown = "<p><code>simalloc run &lt;trace&gt;</code> says more. A ` alone stays.</p>"
    assert shown in html(table)


def test_html_shows_sizes_with_their_units():
    table = Table(
        "", ("policy", "heap", "excess over live %", "scale"), [("x", 2_637_824, 39.25, 16)]
    )
    shown = html(table, sizes=True)
    assert re.findall(r"<td[^>]*>([^<]*)</td>", shown) == ["x", "2.52 MiB", "39.25", "16"]
    assert "2,637,824" in html(table)


def test_absurd_percentages_are_bounded_for_people_alone():
    assert [bounded_percent(x).text for x in (0.25, 410.72, 1000, 1001)] == [
        "25.0",
        "41,072",
        "100,000",
        "> 100,000",
    ]
    table = Table("", ("policy", "#3 %"), [("mimalloc", bounded_percent(33_556_479.0))])
    assert "> 100,000" in written(table, "table")
    assert json.loads(written(table, "json")) == [{"policy": "mimalloc", "#3 %": 3_355_647_900.0}]


def test_mappings_without_resident_memory_make_no_table():
    place = {"function": "f", "file": "a.so", "calls": 1, "resident_bytes": 0}
    place |= {"final_resident_bytes": 0, "peak_mapped_bytes": 4096}
    assert mappings_table({"mappings": [place]}) is None
    assert len(mappings_table({"mappings": [place, place | {"resident_bytes": 9}]}).rows) == 1
