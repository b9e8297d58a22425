"""A heap step by step: the effects of each event, computed by hand, and the output files."""

import re

import pytest

import simalloc
from simalloc.errors import SimallocError
from simalloc.heap.watch.steps import take_steps
from simalloc.trace import Op, Trace

M, F = Op.MALLOC, Op.FREE
EVENTS = [M, M, M, F, M, F], [0, 1, 2, 1, 3, 0], [100, 40, 60, 0, 24, 0]


@pytest.fixture
def trace():
    return Trace.from_events(*EVENTS, name="<small>")


def test_blocks_free_list_and_search_are_those_of_the_policy(trace):
    found = take_steps(trace, "first-fit-lifo").steps
    assert [step.text for step in found[:4]] == [
        "malloc 0: 100 bytes",
        "malloc 1: 40 bytes",
        "malloc 2: 60 bytes",
        "free 1",
    ]
    assert found[0].changes == ("grew", "split")
    assert [(b.address, b.size, b.state, b.object) for b in found[4].blocks] == [
        (0, 100, "allocated", 0),
        (100, 24, "allocated", 3),
        (124, 16, "free", None),
        (140, 60, "allocated", 2),
        (200, 56, "free", None),
    ]
    assert [step.free_list for step in found[3:]] == [(100, 200), (124, 200), (0, 124, 200)]
    assert [step.searched for step in found] == [0, 1, 1, None, 1, None]


def test_the_order_of_the_list_is_the_policys(trace):
    last = [take_steps(trace, f"first-fit-{o}").steps[-1].free_list for o in ("fifo", "ao", "lifo")]
    assert last == [(224, 0), (0, 124, 200), (0, 124, 200)]


def test_a_window_begins_with_the_heap_as_it_is_then(trace):
    found = take_steps(trace, "first-fit-ao", first=4, last=5)
    assert [step.event for step in found.steps] == [4, 5]
    assert found.steps[0].changes == ()
    assert repr(found) == "<Steps: 2 events of <small> under first-fit-ao>"


def test_a_users_policy_is_shown_too(trace):
    class WorstFit(simalloc.UserPolicy):
        def malloc(self, heap, size):
            return heap.split(heap.worst_fit(size) or heap.grow(size, 4096), size)

        def free(self, heap, block):
            heap.insert(heap.merge(block))

    assert [step.text for step in simalloc.step(trace, WorstFit).steps][-1] == "free 0"


def test_text_svg_and_html_show_every_step_and_escape_names(trace, tmp_path):
    found = simalloc.step(trace, "binary-buddy")
    assert "free list: 160 (32)" in str(found)
    for name in ("s.txt", "s.svg", "s.html"):
        found.save(tmp_path / name)
    svg, html = ((tmp_path / f"s.{kind}").read_text() for kind in ("svg", "html"))
    assert svg.count('class="step"') == html.count("<svg") == 6
    assert 'name="viewport"' in html, "a phone shows the page as wide as itself"
    for text in (svg, html, found._repr_html_()):
        assert "<small>" not in text
        assert "&lt;small&gt; under binary-buddy" in text
    widths = [float(x) for x in re.findall(r'width="([\d.]+)" height="40"', svg)]
    assert all(width > 0 for width in widths)


def test_steps_in_a_page_restyle_nothing_else_and_are_written_alike(trace):
    html = simalloc.step(trace)._repr_html_()
    assert html == simalloc.step(trace)._repr_html_()
    (style,) = re.findall(r"<style>(.*?)</style>", html)
    selectors = re.findall(r"([^{}]+)\{", style)
    assert selectors
    assert all(selector.startswith(".simalloc-step") for selector in selectors)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"first": 0}, "events 0 to 6 do not exist; choose from 1 to 6"),
        ({"last": 7}, "choose from 1 to 6"),
        ({"policy": "best-possible"}, "does not place objects event by event"),
    ],
)
def test_steps_that_there_are_not_are_refused(trace, given, words):
    with pytest.raises(SimallocError, match=words):
        take_steps(trace, given.pop("policy", "first-fit-ao"), **given)


def test_too_many_steps_are_refused_before_the_work():
    with pytest.raises(SimallocError, match=r"2,001 steps are too many .* such as events 1 to 100"):
        take_steps(Trace.from_events([M] * 2001, range(2001), [8] * 2001), "first-fit-ao")


def test_another_kind_of_file_is_refused_and_none_is_written(trace, tmp_path):
    with pytest.raises(
        SimallocError, match=r"'\.gif' of a file of steps; choose one of \.html, \.svg, \.txt"
    ):
        simalloc.step(trace).save(tmp_path / "s.gif")
    assert list(tmp_path.iterdir()) == []
