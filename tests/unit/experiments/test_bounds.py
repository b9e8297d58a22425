"""The page on bounds: its figures equal the measurements."""

from pathlib import Path

import numpy as np
import pytest

from experiments.bounds.kept import Kept
from experiments.bounds.knowing import (
    examples,
    guessed,
    knowing,
    learned,
    long_lived,
    second_half,
    sites_of,
    sizes_of,
)
from experiments.bounds.measuring import (
    KNOWLEDGE,
    SMALL,
    by_sites,
    known,
    possible,
    ratio,
)
from experiments.bounds.page import answer
from simalloc.adversary import ADVERSARIES
from simalloc.bound import robson_bound
from simalloc.heap import simulate
from simalloc.trace import Trace

PAGE = (Path(__file__).parents[3] / "docs" / "bounds.md").read_text("utf-8")


def printed(table, name):
    """Return the cells of a row, in the table whose title begins with `table`."""
    lines = PAGE.partition(f"**{table}")[2].partition("\n\n")[2].partition("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    (row,) = (row for row in rows if row[0] == name)
    return row[1:]


@pytest.mark.parametrize("name", ["make", "p2c", "ghostscript", "hyper"])
def test_a_row_of_the_page_is_what_is_measured(name):
    row = possible(name)
    cells = printed("Heap beyond peak live**", name)
    assert (cells[0], cells[3]) == (f"{row.live:,}", f"{row.best:,}")
    assert float(cells[1]) == pytest.approx(100 * row.first_fit / row.live, abs=6e-4)
    assert float(cells[2]) == pytest.approx(100 * row.best_fit / row.live, abs=6e-4)


def test_what_knowing_helps_is_what_is_measured():
    cells = dict(zip(KNOWLEDGE, printed("Heap beyond peak live in percent, by", "p2c")[2:-1],
                     strict=True))  # fmt: skip
    found = known("p2c", [])
    for what in {*found} - {"sizes of others"}:
        assert float(cells[what]) == pytest.approx(100 * found[what], abs=6e-4)


def test_a_game_of_the_page():
    heaps = [ratio(name, "first-fit-ao-8k", *SMALL) for name in ADVERSARIES]
    cells = printed("Peak heap / live bytes, every row", "first-fit-ao-8k")[1:]
    assert [float(cell) for cell in cells] == pytest.approx(heaps, abs=6e-3)
    assert heaps[0] >= robson_bound(*SMALL) / SMALL[0]


# Objects 0 and 2 stay live. Object 1 does not outlive half of the peak, 12 bytes. Object 3 is last.
LIVES = Trace.from_events([0, 0, 1, 0, 0], [0, 1, 1, 2, 3], [4, 2, 0, 4, 4])


def test_who_knows_lifetimes_keeps_the_short_lived_high():
    assert long_lived(LIVES).tolist() == [True, False, False, True, False]
    assert long_lived(LIVES, wrong=100).tolist() == [False, True, False, False, True]
    run = simulate(LIVES, knowing(long_lived(LIVES)), scale=1, addresses=True)
    assert run.addresses[0] == 0
    assert run.peak_heap_bytes < 32


def test_what_is_learned_is_what_most_like_it_do():
    keys, long = examples(LIVES, sizes_of(LIVES))
    assert (keys.tolist(), long.tolist()) == ([4, 2, 4], [True, False, True])
    lessons = learned([(keys, long)])
    assert guessed(np.array([2, 3, 4, 5]), lessons).tolist() == [False, False, True, False]
    assert guessed(np.array([2, 3]), learned([(keys[:0], long[:0])])).tolist() == [False, False]


def test_in_the_second_half_only_the_first_is_known():
    # After two events nothing has died, and only object 0 is old enough. Size 4 is long-lived, size
    # 2 is unknown.
    assert second_half(LIVES, sizes_of(LIVES)).tolist() == [True, True, False, True, True]


def test_call_sites_are_told_apart_from_sizes():
    traced = Trace.from_events([0, 0, 1, 0], [0, 1, 1, 2], [8, 8, 0, 8], site=[1, 2, 0, 1])
    assert sites_of(LIVES) is None
    assert by_sites(LIVES) == {}
    keys = sites_of(traced)
    assert keys[0] == keys[3] != keys[1]
    assert set(by_sites(traced)) == {"sites, first half", "sites"}


def test_the_answer_is_the_least_that_closes_half_of_the_gap():
    row = possible("hyper")
    wasted, best = row.wasted / row.live, row.best / row.live
    little, more = "sizes of others", "classes"
    said = answer(row, {little: wasted, more: best, "deaths": best})
    assert said.startswith(f"*{more}* (")
    assert not answer(row, {little: wasted})


def test_what_was_measured_is_kept(tmp_path):
    asked = []
    for _ in range(2):
        kept = Kept(tmp_path / "kept.json")
        assert kept.get("one", lambda: asked.append(1) or {"a": 1.5}) == {"a": 1.5}
    assert asked == [1]
