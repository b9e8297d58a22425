"""The page on what is possible: what it prints is what is measured."""

import re
from pathlib import Path

import pytest

from experiments.bounds.knowing import KnowsLifetimes, long_lived
from experiments.bounds.measuring import SMALL, Worst, possible, ratios, rows_to_play
from experiments.bounds.page import possible_table, worst_table
from simalloc.bound import robson_bound
from simalloc.heap import simulate
from simalloc.trace import Trace
from simalloc.trace.catalogue import catalogue

PAGE = (Path(__file__).parents[3] / "docs" / "bounds.md").read_text("utf-8")


def printed(name, columns):
    """Return the cells of the rows of that name which have so many columns."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines()]
    return [row[1:] for row in rows if len(row) == columns and row[0] == name]


@pytest.mark.parametrize("name", ["make", "p2c", "cfrac", "ghostscript", "hyper", "git"])
def test_a_row_of_the_page_is_what_is_measured(name):
    row = possible(name)
    (cells,) = printed(name, 6)
    assert cells[0] == f"{row.live:,}"
    assert cells[3] == f"{row.best:,}"
    assert float(cells[1]) == pytest.approx(100 * row.first_fit / row.live, abs=6e-4)
    assert float(cells[2]) == pytest.approx(100 * row.best_fit / row.live, abs=6e-4)
    assert possible_table([row]).rows[0][0] == name
    if row.deaths is not None:
        (known,) = printed(name, 7)[-1:]
        shares = [row.first_fit, row.best_fit, row.classes_wrong, row.classes, row.deaths, row.best]
        assert [float(cell) for cell in known] == pytest.approx(
            [100 * share / row.live for share in shares], abs=6e-4
        )


def test_every_shipped_trace_and_every_policy_is_on_the_page():
    assert all(printed(name, 6) for name in catalogue())
    assert all(printed(name, 7) for name in rows_to_play())


def test_exact_traces_are_counted():
    exact = sum(printed(name, 6)[0][3] == "0" for name in catalogue())
    assert re.search(rf"on {exact}\s+of {len(catalogue())} traces", PAGE)


def test_a_game_of_the_page():
    small = ratios("first-fit-ao-8k", *SMALL)
    assert small["robson"] >= robson_bound(*SMALL) / SMALL[0]
    (cells,) = printed("first-fit-ao-8k", 7)
    assert [float(cell) for cell in cells[:3]] == pytest.approx([*small.values()], abs=6e-3)
    assert worst_table([Worst("a", small, small)]).rows[0][0] == "a"


def test_who_knows_lifetimes_keeps_the_short_lived_high():
    # Objects 0 and 2 live on; 1 does not outlive half of the peak of 12 bytes.
    trace = Trace.from_events([0, 0, 1, 0, 0], [0, 1, 1, 2, 3], [4, 2, 0, 4, 4])
    assert long_lived(trace).tolist() == [True, False, False, True, False]
    assert long_lived(trace, wrong=100).tolist() == [False, True, False, False, True]
    run = simulate(trace, KnowsLifetimes(), scale=1, addresses=True)
    assert run.addresses[0] == 0
    assert run.peak_heap_bytes < 32
