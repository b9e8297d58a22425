"""The last table of every paper's page covers everything that the paper prints."""

from pathlib import Path

import pytest

from experiments.coverage import COLUMNS, coverage_table
from experiments.detlefs.paper import PAPER as DETLEFS
from experiments.gabber.paper import PAPER as GABBER

EXPERIMENTS = Path(__file__).parents[3] / "experiments"
ANSWERS = {"yes", "partly", "no"}
PAGES = sorted(EXPERIMENTS.glob("*/coverage.csv"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.parent.name)
def test_every_answer_is_one_of_three_and_every_no_is_explained(path):
    for what, *said, why in coverage_table(path).rows:
        assert what
        assert set(said) <= ANSWERS
        assert bool(why) is (set(said) != {"yes"})


def test_a_row_that_hides_something_is_refused(tmp_path):
    path = tmp_path / "coverage.csv"
    path.write_text(",".join(COLUMNS) + "\nTable 8,no,no,no,\n", encoding="utf-8")
    with pytest.raises(ValueError, match="Table 8"):
        coverage_table(path)


@pytest.mark.parametrize(("experiment", "paper"), [("detlefs", DETLEFS), ("gabber", GABBER)])
def test_all_that_is_transcribed_is_in_the_table(experiment, paper):
    rows = " ".join(
        row[0] for row in coverage_table(EXPERIMENTS / experiment / "coverage.csv").rows
    )
    missing = [
        f"Table {number}:" for number in paper.about["tables"] if f"Table {number}:" not in rows
    ]
    names = [paper.label(name) for name in (*paper.programs, *paper.policies)]
    assert not [*missing, *(name for name in names if name not in rows)]
