"""What the adversaries make policies need, beside what is proven."""

from math import log2

import numpy as np
import pytest

import simalloc
from simalloc.adversary import Game, attack
from simalloc.adversary.robson import occupying
from simalloc.bound import robson_bound
from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.policy import CATALOGUE
from simalloc.trace import Op

LIVE, LARGEST = 1 << 10, 1 << 5
ONLINE = [name for name, row in CATALOGUE.items() if row.description.way == "online"]


@pytest.mark.parametrize("name", ONLINE)
def test_robson_drives_every_policy_up_to_the_bound(name):
    trace = attack("robson", name, live=LIVE, largest=LARGEST)
    assert trace.provenance["peak_heap_bytes"] >= robson_bound(LIVE, LARGEST)
    assert max(trace.stretch.live) <= LIVE


@pytest.mark.parametrize("adversary", ["robson", "against-best-fit", "against-buddies"])
@pytest.mark.parametrize("name", ["first-fit-ao", "next-fit-lifo", "best-fit-fifo", "binary-buddy"])
def test_both_engines_make_the_same_game(name, adversary):
    one, other = (
        attack(adversary, name, live=256, largest=16, engine=engine)
        for engine in ("core", "reference")
    )
    assert one.sha256() == other.sha256()
    assert one.provenance == other.provenance


@pytest.mark.parametrize("adversary", ["robson", "against-best-fit", "against-buddies"])
def test_the_trace_makes_the_heap_again(adversary):
    trace = attack(adversary, "best-fit-ao:growth=16", live=LIVE, largest=LARGEST)
    run = simulate(trace, "best-fit-ao:growth=16")
    assert run.peak_heap_bytes == trace.provenance["peak_heap_bytes"]
    assert run.max_live_bytes <= LIVE


@pytest.mark.parametrize("name", ["first-fit-ao", "best-fit-ao"])
def test_robson_meets_his_bound_to_the_byte(name):
    trace = attack("robson", f"{name}:growth=16", live=1 << 14, largest=1 << 6)
    assert trace.provenance["peak_heap_bytes"] == robson_bound(1 << 14, 1 << 6)


def test_best_fit_needs_a_third_of_live_times_largest():
    trace = attack("against-best-fit", "best-fit-ao:growth=16", live=1 << 14, largest=1 << 6)
    assert trace.provenance["peak_heap_bytes"] > (1 << 14) * (1 << 6) / 3
    harmless = simulate(trace, "first-fit-ao:growth=16")
    assert harmless.peak_heap_bytes < 3 * (1 << 14)


def test_buddies_need_about_live_times_the_logarithm():
    trace = attack("against-buddies", "binary-buddy:growth=16", live=1 << 14, largest=1 << 6)
    ratio = trace.provenance["peak_heap_bytes"] / (1 << 14)
    assert 0.8 * (1 + log2(1 << 6)) < ratio <= 1 + log2(1 << 6)


def test_a_game_tells_where_things_are():
    game = Game("first-fit-ao:growth=16")
    placed = game.allocate(np.array([4, 3, 2]))
    assert placed.address.tolist() == [0, 4, 7]
    game.free(placed.where(np.array([False, True, False])))
    assert game.allocate(np.array([2])).address.tolist() == [4]
    assert (game.live, game.peak_heap_bytes) == (8, 9)
    trace = game.trace("by hand", {})
    assert trace.op.tolist() == [Op.MALLOC, Op.MALLOC, Op.MALLOC, Op.FREE, Op.MALLOC]
    # 4 is in the first object, and so is 0; 6 is in the one of 2 that came last.
    assert occupying(placed, 0, 4).tolist() == [True, True, True]
    assert occupying(placed, 3, 4).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"name": "tarzan"}, "there is no workload 'tarzan'"),
        ({"name": "robson"}, "plays against a policy"),
        ({"name": "hyper", "policy": "first-fit-ao"}, "plays against no policy"),
        ({"name": "robson", "policy": "first-fit-ao", "largest": 3}, "a power of two"),
        ({"name": "robson", "policy": "first-fit-ao", "live": 4}, "live is 4; it takes 256"),
        ({"name": "robson", "policy": "best-possible"}, "has to know all beforehand"),
    ],
)
def test_what_cannot_be_played(arguments, complaint):
    with pytest.raises(SimallocError, match=complaint):
        simalloc.workload(**arguments)
