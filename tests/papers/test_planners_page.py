"""Distance of static planners from the lowest placement: the claims of docs/planners.md."""

import numpy as np
import pytest
from paper_pages import DOCS

from experiments.planners.measuring import FOLDER, INSTANCES, PACKINGS, heights, kept
from experiments.planners.packings import BYTES, TIMES, cut, packing
from experiments.planners.page import PAGE, page
from simalloc.bound import Timetable
from simalloc.trace.formats.importing import load_log


@pytest.fixture(scope="module")
def found():
    return kept()


def test_the_page_in_docs_is_the_one_that_comes_out(found):
    assert (DOCS / PAGE).read_text(encoding="utf-8") == page(found), (
        "python -m experiments.planners"
    )


@pytest.mark.parametrize("number", [0, 7, 11])
def test_what_is_kept_is_what_the_planners_need(found, number):
    table = Timetable.of(load_log(FOLDER / INSTANCES[number]), aligned=True)
    one = found.instances[number]
    assert heights(table) == one.planners
    assert (len(table), table.peak) == (one.best.buffers, one.best.peak)


def test_no_planner_is_below_the_lower_bound(found):
    for one in found.instances:
        assert one.best.lower <= min(one.best.heap, *one.planners.values())
        assert one.lowest.heap == min(one.best.heap, *one.planners.values())
        assert (one.lowest.status == "optimal") == (one.best.lower == one.lowest.heap)
        assert (one.best.status == "optimal") == (one.best.lower == one.best.heap)


def test_every_packing_was_searched(found):
    assert [one.buffers for one in found.packings] == [
        buffers for buffers, count in PACKINGS for _ in range(count)
    ]


def test_a_packing_covers_every_byte_once():
    plane = np.zeros((TIMES, BYTES >> 10), np.int64)
    pieces = cut(50, 3)
    assert sum(piece.area for piece in pieces) == TIMES * BYTES
    for piece in pieces:
        whole = slice(-(-piece.address >> 10), piece.above >> 10)
        plane[piece.lower : piece.upper, whole] += 1
    assert plane.max() == 1
    table = Timetable.of(packing(50, 3))
    assert (len(table), table.peak) == (50, BYTES)
