"""Programs of today under Johnstone & Wilson's policies: what docs/todays-programs.md claims."""

import numpy as np
import pytest
from paper_pages import DOCS, no_progress

from experiments.johnstone_wilson.replays import percent
from experiments.todays_programs import facts
from experiments.todays_programs.cases import AS_IT_IS, CASES, IN_PLACE, PAIR
from experiments.todays_programs.measuring import measure
from experiments.todays_programs.page import PAGE, page
from experiments.todays_programs.programs import PROGRAMS, ROWS
from experiments.todays_programs.tables import all_tables
from simalloc.trace import Op
from simalloc.trace.catalogue import catalogue

BEST, FIRST = PAIR


@pytest.fixture(scope="module")
def results():
    return measure(no_progress)


@pytest.fixture(scope="module")
def changed(results):
    """Waste with one thing changed, the most that is live then, by program and change's name."""
    return {
        (case.program, change.name, policy): (percent(run, 4), run.max_live_bytes)
        for case in CASES
        for change in case.changes
        for policy in PAIR
        for run in [results.runs[change.job(case.program, policy)]]
    }


def test_programs_are_those_that_were_recorded_by_a_recipe():
    assert len(PROGRAMS) == 22
    assert len(ROWS) == 16
    assert {catalogue()[name].kind for name in PROGRAMS} == {"recorded"}


def test_the_better_of_the_two_wastes_little_on_most_programs(results):
    near = facts.near_zero(results, 5)
    assert near["better"] == 20
    assert min(near[BEST], near[FIRST]) > 2 * len(PROGRAMS) / 3


def pieces(results, program, policy, change=AS_IT_IS):
    """Return what is free at the peak of a case's heap."""
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


def test_ginsh_is_requests_that_grow(results, changed):
    assert results.waste("ginsh", BEST) > 80
    assert results.waste("ginsh", FIRST) < 3
    for policy in PAIR:
        assert changed["ginsh", "without objects above 16 KiB", policy][0] < 3
    large = facts.large_requests(results.traces["ginsh"])
    assert large.rising > large.count / 2
    assert (large.gap, large.life) == (32, 47)
    best, first = (pieces(results, "ginsh", policy) for policy in PAIR)
    assert best.largest[-1] < best.request
    assert best.hole_bytes > 0.8 * best.free
    assert (first.holes, best.holes > 50, best.bytes_between < 200) == (0, True, True)


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


@pytest.mark.parametrize(("program", "share"), [("varnish", 0.2), ("redis", 0.7)])
def test_first_fit_on_caches_hangs_on_large_objects(results, changed, program, share):
    assert results.waste(program, FIRST) > 15
    assert results.waste(program, BEST) < 6
    without = changed[program, "without objects above 4 KiB", FIRST][0]
    assert without < share * results.waste(program, FIRST)
    best, first = (pieces(results, program, policy) for policy in PAIR)
    assert first.largest[-1] < first.request
    assert first.middling * first.free > 3 * best.middling * best.free


def test_redis_is_worse_if_reallocs_grow_in_place(results, changed):
    for policy in PAIR:
        in_place = changed["redis", "realloc grows in place if it can", policy][0]
        assert in_place > 2 * changed["redis", "as recorded", policy][0]
    then = pieces(results, "redis", BEST, IN_PLACE)
    assert then.holes > 10 * pieces(results, "redis", BEST).holes
    assert then.largest[-1] < then.request


def test_f2c_is_rests_of_small_blocks(results, changed):
    trace = results.traces["f2c"]
    request = np.median(trace.size[trace.op != Op.FREE])
    for policy in PAIR:
        free = pieces(results, "f2c", policy)
        assert free.holes <= 1
        assert free.median < request / 2
        without = changed["f2c", "without objects above 1 KiB", policy][0]
        assert abs(without - results.waste("f2c", policy)) < 0.5


def test_the_page_in_docs_is_the_one_that_comes_out(results):
    made = page(results, all_tables(results))
    assert (DOCS / PAGE).read_text(encoding="utf-8") == made, (
        "python -m experiments.todays_programs"
    )
    for case in CASES:
        assert f"images/{case.picture}" in made
        assert (DOCS / "images" / case.picture).read_bytes().startswith(b"\x89PNG")
