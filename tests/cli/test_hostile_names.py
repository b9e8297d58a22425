"""Names from untrusted files are displayed on terminals, pages and spreadsheets, never executed."""

import csv
import io
import json
import re

import numpy as np
import pytest
from command import simalloc

import simalloc as api
from simalloc.trace import Trace, write_trace

NAMES = (
    "\x1b[31mred\x1b]0;title\x07",
    "<!--<script>",
    "</script><script>document.title=1</script>",
    "=cmd|'/C calc'!A0",
    "\uff1dcmd|'/C calc'!A0",
    "`x`<b>|a|",
    "\x9b2J\u202eevil",
)
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """A trace with the hostile names above; each function is called by the previous one."""
    path = tmp_path_factory.mktemp("hostile") / "named.npz"
    places = [[], *([[name, f"{name}.c", 3]] for name in NAMES)]
    stacks = {
        "places": places,
        "parent": [0, 0, *range(1, len(NAMES))],
        "place": [*range(len(places))],
    }
    count = 40
    made = Trace.from_events(
        [0] * count,
        list(range(count)),
        [24, 100, 5000, 70_000] * (count // 4),
        name="".join(NAMES),
        provenance={"stacks": stacks, "command": list(NAMES), "recorder": "x"},
        site=np.arange(count, dtype=np.uint32) % len(NAMES) + 1,
    )
    write_trace(made, path)
    return path


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown", "latex"])
@pytest.mark.parametrize(
    "words",
    [
        ("info",),
        ("run", "-p", "first-fit-ao"),
        ("sites", "-p", "first-fit-ao"),
        ("waste", "-p", "first-fit-ao"),
    ],
)
def test_no_control_character_reaches_a_terminal(trace, words, form):
    command, *options = words
    done = simalloc(command, trace, *options, "--format", form)
    assert done.exit_code == 0, done.output
    assert done.stdout
    assert not OBEYED.search(done.stdout)
    assert not OBEYED.search(done.stderr)


def test_no_control_character_is_in_an_error(tmp_path):
    done = simalloc("info", tmp_path / "\x1b]0;title\x07.npz")
    assert done.exit_code == 2
    assert "\\x1b]0;title\\x07.npz" in done.stderr
    assert not OBEYED.search(done.stderr)


def test_no_control_character_is_in_what_python_shows(trace):
    loaded = api.read_trace(trace)
    run = api.simulate(loaded, "first-fit-ao")
    assert not OBEYED.search(f"{loaded!r}{run!r}{loaded}{run}")


def test_a_name_is_no_formula_in_a_spreadsheet(trace):
    done = simalloc("sites", trace, "--by", "function", "--format", "csv")
    cells = [cell for row in csv.reader(io.StringIO(done.stdout)) for cell in row]
    assert f"'{NAMES[3]}" in cells
    assert not any(cell.startswith(("=", "@", "\uff1d")) for cell in cells)


def test_a_name_ends_no_script_and_begins_none_on_a_page(trace, tmp_path):
    page = tmp_path / "page.html"
    assert simalloc("report", trace, "-o", page, "-p", "first-fit-ao", "--no-native").exit_code == 0
    text = page.read_text("utf-8")
    embedded = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert any("\\u003c!--\\u003cscript>" in data for data in embedded)
    for data in embedded:
        assert "<" not in data
        json.loads(data)
    assert "<!--<script>" not in text
    assert text.count("<script") == len(embedded) + 1
