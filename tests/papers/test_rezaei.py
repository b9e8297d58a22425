"""Rezaei's figures and statements, measured: what the page in docs says."""

import pytest
from paper_pages import DOCS, no_progress

from experiments.rezaei.figures import draw
from experiments.rezaei.generated import generate
from experiments.rezaei.measuring import IN_ANY_ORDER, SBT_BETTER_WC, SWEPT, generated, measure
from experiments.rezaei.metrics import nodes, nodes_with_free
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


def test_how_bf_of_a_tree_is_read_decides_statements(results):
    better, best = (
        {one.claim.name: one.verdict for one in standings(results.read_as(fit), kept())}
        for fit in ("better", "bf")
    )
    assert any(better[name] != best[name] for name in better)
    assert len(results.twelve) == len(results.read_as("bf").twelve) == 12


def test_what_the_page_says_of_searches(results):
    assert results.median("abt-ff", nodes) < results.median("sqf-ff", nodes) / 10
    few, many = (results.median(text, nodes_with_free) for text in ("sqf-ffwc", "abt-ffwc"))
    assert few < many
    assert results.median("abt-bf", nodes) > 1000

    def at_free(trace, policy):
        return results.run(trace, policy).counters.visited_at_free_mean

    assert at_free(SWEPT, "abt-ffwc") > 50 * at_free(IN_ANY_ORDER, "abt-ffwc")
    assert at_free(SWEPT, "abt-ffwc:rebalance=100") < 20


def test_merging_with_one_neighbour_leaves_more_free_blocks(results):
    def blocks(run):
        return run.counters.free_blocks_mean

    for one in ("abt-ffwc", SBT_BETTER_WC):
        name = one.partition(":")[0]
        assert results.median(f"{name}:coalescing=all", blocks) < results.median(one, blocks)


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_generated_traces_have_the_statistics_of_table_2(program):
    trace = generate(program, seed=1)
    born = trace.op == Op.MALLOC
    assert born.sum() == program.allocations
    assert (trace.op == Op.FREE).sum() == program.deallocations
    assert trace.size[born].mean() == pytest.approx(program.average_request, rel=0.01)
    assert "(generated)" in trace.name


def test_live_memory_comes_near(results):
    for program, name in zip(programs(), generated(), strict=True):
        line = results.run(name, "sqf-ff").timeline
        live = (line.live_low + line.live_high).mean() / 2 / (1 << 20)
        assert live == pytest.approx(program.average_live, rel=0.1)


def test_the_figures_are_a_picture(results, tmp_path):
    with (tmp_path / "figures.png").open("wb") as stream:
        draw(results, stream)
    assert (tmp_path / "figures.png").read_bytes().startswith(b"\x89PNG")
