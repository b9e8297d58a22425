"""Result files are written completely or not at all, and findings are taken from pages."""

import csv

import pytest

from experiments.output import Exhibit, findings, write_figure, write_tables, write_text
from simalloc.report import Rounded, Table

TABLE = Table("A table", ("policy", "percent"), [("best fit", Rounded(1 / 3, 2))])


def test_tables_go_to_csv_one_by_one_and_to_markdown_together(tmp_path):
    write_tables(
        {"first": Exhibit(TABLE, TABLE), "second": Exhibit(TABLE, TABLE)},
        tmp_path,
        "Johnstone & Wilson 1998",
    )
    assert {path.name for path in tmp_path.iterdir()} == {"first.csv", "second.csv", "tables.md"}
    with (tmp_path / "first.csv").open() as file:
        assert list(csv.reader(file)) == [["policy", "percent"], ["best fit", str(1 / 3)]]
    text = (tmp_path / "tables.md").read_text()
    assert text.startswith("# Johnstone & Wilson 1998")
    assert text.count("| best fit | 0.33 |") == 2


def test_what_was_there_stays_if_drawing_fails(tmp_path):
    path = tmp_path / "figure.png"
    write_text("old", path)

    def draw(draft):
        draft.write(b"half a pic")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_figure(draw, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_findings_are_the_first_sentences_of_the_items_in_short():
    page = (
        "# A page\n\n- **Not in short.** Text.\n\n## In short\n\n"
        "- **Heaps are 2.5 times\n  as large.** The cause is simple.\n"
        "- **Times** cannot be checked. More text.\n"
        "- **Open**: the last row.\n- A remark.\n\nText.\n\n## Next\n\n- **Not in short.**\n"
    )
    assert findings(page) == [
        "- Heaps are 2.5 times as large.",
        "- Times cannot be checked.",
        "- Open: the last row.",
    ]
