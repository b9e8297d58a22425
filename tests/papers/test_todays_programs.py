"""Today's programs under Johnstone & Wilson's policies: the claims of docs/todays-programs.md."""

import pytest
from paper_pages import DOCS, no_progress

from experiments.growth.measuring import SCALE, read_kept
from experiments.johnstone_wilson.replays import Job, percent
from experiments.todays_programs import facts
from experiments.todays_programs.cases import AS_IT_IS, CASES, PAIR
from experiments.todays_programs.measuring import measure
from experiments.todays_programs.page import PAGE, page
from experiments.todays_programs.programs import PROGRAMS
from experiments.todays_programs.tables import all_tables

BEST, FIRST = PAIR


@pytest.fixture(scope="module")
def results():
    """Replay only the cases; experiments.growth stores the other results (see test_growth)."""
    row_of = {256 * SCALE: "{}", 512 * SCALE: "{}-8k"}
    kept = {
        Job(one.trace, row_of[one.unit].format(one.policy)): one.waste
        for one in read_kept()
        if one.unit in row_of
    }
    return measure(no_progress, kept)


@pytest.fixture(scope="module")
def changed(results):
    """Return waste and peak live bytes with one change, by program, change and policy."""
    return {
        (case.program, change.name, policy): (percent(run, 4), run.max_live_bytes)
        for case in CASES
        for change in case.changes
        for policy in PAIR
        for run in [results.runs[change.job(case.program, policy)]]
    }


def test_the_better_of_the_two_wastes_little_on_most_programs(results):
    near = facts.near_zero(results, 5)
    assert near["better"] == 20
    assert min(near[BEST], near[FIRST]) > 2 * len(PROGRAMS) / 3


def pieces(results, program, policy, change=AS_IT_IS):
    """Return the free blocks at the peak of a case's heap."""
    case = next(case for case in CASES if case.program == program)
    run = results.runs[change.job(program, policy)]
    return facts.pieces(results.traces[program], run, case.hole)


def test_every_program_on_which_one_of_them_wastes_over_5_percent_is_a_case(results):
    far = {one for one in PROGRAMS for policy in PAIR if results.waste(one, policy) > 5}
    assert far == {case.program for case in CASES}


def test_perl5_is_one_block_that_grows(results, changed):
    assert results.waste("perl5", BEST) > 1000
    assert results.waste("perl5", FIRST) < 1
    for policy in PAIR:
        assert changed["perl5", "without objects above 1 MiB", policy][0] < 0.1
    in_place = [changed["perl5", "realloc grows in place if it can", one][0] for one in PAIR]
    assert in_place[0] < 10 < in_place[1]
    block = facts.growing_block(results.traces["perl5"])
    assert block.reallocs == 410
    best, first = (pieces(results, "perl5", policy) for policy in PAIR)
    assert best.largest[-1] < best.request == block.largest
    assert best.holes > 100
    assert first.holes <= 1
    assert best.hole_bytes > 0.99 * best.free
    assert best.bytes_between < 100
    trace = results.traces["perl5"]
    assert len(set(trace.object[trace.size > 1 << 20].tolist())) == 1, "one object is left out"


def test_cc1_is_two_requests(results, changed):
    for policy in PAIR:
        huge = facts.huge_requests(results.traces["cc1"], policy)
        assert huge.sizes == (1_654_296, 2_099_432)
        assert huge.after == results.runs[CASES[2].changes[0].job("cc1", policy)].peak_heap_bytes
        assert huge.waste_before < 5
        assert huge.free > 0
        waste, live = changed["cc1", "without objects above 1 MiB", policy]
        assert waste < 5
        assert live == changed["cc1", "as recorded", policy][1]


def test_the_page_in_docs_is_the_one_that_comes_out(results):
    made = page(results, all_tables(results))
    assert (DOCS / PAGE).read_text(encoding="utf-8") == made, (
        "python -m experiments.todays_programs"
    )
    for case in CASES:
        assert f"images/{case.picture}" in made
        assert (DOCS / "images" / case.picture).read_bytes().startswith(b"\x89PNG")
