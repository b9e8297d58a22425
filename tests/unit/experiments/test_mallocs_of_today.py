"""The page about today's mallocs equals the output of its run, in rows of the smallest trace."""

import io
from contextlib import nullcontext
from pathlib import Path

import pytest

from experiments.mallocs_of_today import measuring
from experiments.mallocs_of_today.page import PAGE
from experiments.mallocs_of_today.tables import by_program
from simalloc.report import write_table

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.fixture(scope="module")
def measured():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "shipped", lambda: ["make"])
        return measuring.replays(lambda *_: nullcontext(lambda _: None))


@pytest.mark.parametrize("table", ["whole", "alone", "final"])
def test_the_rows_of_a_program_are_those_of_the_page(measured, table):
    stream = io.StringIO()
    write_table(by_program(measured)[table], "markdown", stream)
    row = stream.getvalue().splitlines()[-1]
    assert row.startswith("| make | ")
    assert f"\n{row}\n" in (DOCS / PAGE).read_text("utf-8")
