"""The picture of a real heap shows the bytes of the table."""

import pytest
from process_programs import running

from simalloc.process import snapshot_of
from simalloc.report.figures.real_heap import KINDS, bytes_by_kind, draw_real_heap


@pytest.fixture(scope="module")
def heap(compiled):
    with running(compiled("blocks"), "threads") as target:
        return snapshot_of(str(target.process))


def test_cells_add_up_to_the_figures_of_the_arena(heap):
    for number, part in enumerate(heap.parts[:-1]):
        live, cached, inside, top, absent = bytes_by_kind(heap, number, 10_000).sum(axis=1)
        mine = heap.blocks.arena == number
        assert live + cached + inside + top + absent == pytest.approx(heap.blocks.size[mine].sum())
        assert cached == pytest.approx(part.cached_resident)
        assert inside + top == pytest.approx(part.free_resident)
        assert absent == pytest.approx(part.free_absent)


def test_the_picture_has_a_panel_for_each_arena_and_names_the_kinds(heap):
    figure = draw_real_heap(heap, theme="dark")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert len(titles) == len(heap.parts) - 1
    assert titles[0].startswith("arena main: ")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(KINDS)
