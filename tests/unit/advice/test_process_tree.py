"""Several processes on one clock."""

import numpy as np
import pytest
from command import simalloc

from simalloc.advice.process_tree import process_tree
from simalloc.trace import Op, Trace, write_trace

HEADING = "<h3>Memory over time</h3>"
"""Heading that occurs once in each process's page, although the list of sections also names it."""


def process(number, begins, size):
    """Return a process that allocates ten objects, one per second, and frees all after 20 s."""
    return Trace.from_events(
        [Op.MALLOC] * 10 + [Op.FREE] * 10,
        [*range(10), *range(10)],
        [size] * 10 + [0] * 10,
        time=np.r_[np.arange(10), np.full(10, 20)] * 10**9,
        name=f"p.{number}",
        provenance={
            "executable": "/usr/bin/worker",
            "process": number,
            "started": f"2026-01-01T00:00:{begins:02}.000+00:00",
        },
    )


def test_sums_are_of_what_lives_at_the_same_time():
    tree = process_tree([process(1, 10, 50_000), process(2, 0, 100_000), process(3, 40, 70_000)])
    assert [one.number for one in tree.processes] == [2, 3, 1]
    at = {second: int(np.searchsorted(tree.seconds, second)) for second in (5, 15, 25, 45)}
    live = tree.live
    assert live[at[5]] == pytest.approx(600_000, abs=1)
    assert live[at[15]] == pytest.approx(1_000_000 + 300_000, abs=50_000)
    assert live[at[25]] == pytest.approx(500_000, abs=1)
    assert live[at[45]] == pytest.approx(420_000, abs=70_000)
    assert (tree.resident >= live - 1).all()


def test_a_process_without_a_hundredth_of_the_peak_is_small():
    tree = process_tree([process(1, 0, 100_000), process(2, 0, 10)])
    assert [one.number for one in tree.large] == [1]


def test_a_folder_becomes_one_page(tmp_path):
    folder = tmp_path / "tree"
    folder.mkdir()
    for number, size in ((1, 100_000), (2, 10)):
        write_trace(process(number, 0, size), folder / f"p.{number}.npz")
    done = simalloc("report", str(folder))
    assert done.exit_code == 0, done.stderr
    text = (tmp_path / "tree.html").read_text("utf-8")
    assert "The heaps of 2 processes together peak at " in text
    assert "1 small process" in text
    assert text.count(HEADING) == 1


def test_a_process_that_becomes_another_program_is_on_the_page_twice(tmp_path):
    folder = tmp_path / "tree"
    folder.mkdir()
    for part, begins in enumerate((0, 10)):
        write_trace(process(1, begins, 100_000), folder / f"p.1.{part}.npz")
    done = simalloc("report", folder)
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "tree.html").read_text("utf-8").count(HEADING) == 2


def test_a_folder_without_traces_is_refused(tmp_path):
    done = simalloc("report", str(tmp_path), "-o", str(tmp_path / "page.html"))
    assert done.exit_code == 2
    assert "has no traces" in done.stderr
