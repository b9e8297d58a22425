"""Rezaei's figures and statements, measured: the claims of the page in docs."""

import pytest
from paper_pages import DOCS, no_progress

from experiments.rezaei.figures import draw
from experiments.rezaei.generated import generate
from experiments.rezaei.measuring import measure
from experiments.rezaei.page import PAGE, exhibits, page
from experiments.rezaei.published import programs
from experiments.rezaei.seeds import FAILS, HOLDS, SEEDS, kept, of_seed, standings
from simalloc.trace import Op


@pytest.fixture(scope="module")
def results():
    return measure(no_progress)


def test_the_page_in_docs_is_the_one_that_comes_out(results):
    made = page(results, kept(), exhibits(results, kept()))
    assert (DOCS / PAGE).read_text(encoding="utf-8") == made, "run `make papers`"


def test_what_is_kept_of_a_seed_is_what_a_replay_gives(results):
    again = of_seed(SEEDS[0], results)
    found = kept()
    assert again.keys() >= {which for which in found if which[0] == SEEDS[0]}
    for which, value in found.items():
        if which[0] == SEEDS[0]:
            assert again[which] == pytest.approx(value)


def test_a_verdict_takes_the_seeds_and_all_real_programs(results):
    found = {one.claim.name: one for one in standings(results, kept())}
    for one in found.values():
        agreed = [one.seeds >= len(SEEDS) - 1, *one.real.values()]
        assert (one.verdict == HOLDS) is all(agreed)
    assert found["both ends"].real == {"javap": True, "make": False, "p2c": False}
    assert found["17 + 12"].seeds == 0, "6 is not within a factor of two of 17"
    assert found["frequency"].seeds == 0, "eight trees merge far less often"
    assert found["live"].verdict == HOLDS
    assert found["never freed"].verdict == FAILS


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_generated_traces_have_the_statistics_of_table_2(program):
    trace = generate(program, seed=1)
    born = trace.op == Op.MALLOC
    assert born.sum() == program.allocations
    assert (trace.op == Op.FREE).sum() == program.deallocations
    assert trace.size[born].mean() == pytest.approx(program.average_request, rel=0.01)
    assert "(generated)" in trace.name


def test_the_figures_are_a_picture(results, tmp_path):
    with (tmp_path / "figures.png").open("wb") as stream:
        draw(results, stream)
    assert (tmp_path / "figures.png").read_bytes().startswith(b"\x89PNG")
