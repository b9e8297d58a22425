"""Heaps of policies against adversaries, compared with the proven bounds."""

from math import log2

import numpy as np
import pytest

import simalloc
from simalloc.adversary import ADVERSARIES, Game, attack
from simalloc.adversary.every_size import spare
from simalloc.adversary.game import Placed
from simalloc.adversary.robson import occupying
from simalloc.bound import first_fit_bound, robson_bound
from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.policy import CATALOGUE
from simalloc.trace import Op

LIVE, LARGEST = 1 << 10, 1 << 5
ONLINE = [name for name, row in CATALOGUE.items() if row.description.runner == "online"]


@pytest.mark.parametrize("name", ONLINE)
def test_robson_drives_every_policy_up_to_the_bound(name):
    trace = attack("robson", name, live=LIVE, largest=LARGEST)
    assert trace.provenance["peak_heap_bytes"] >= robson_bound(LIVE, LARGEST)
    assert max(trace.replayed.live) <= LIVE


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("name", ["first-fit-ao", "next-fit-lifo", "best-fit-fifo", "binary-buddy"])
def test_both_engines_make_the_same_game(name, adversary):
    one, other = (
        attack(adversary, name, live=256, largest=16, engine=engine)
        for engine in ("core", "reference")
    )
    assert one.sha256() == other.sha256()
    assert one.provenance == other.provenance


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_the_trace_makes_the_heap_again(adversary):
    trace = attack(adversary, "best-fit-ao:growth=16", live=LIVE, largest=LARGEST)
    run = simulate(trace, "best-fit-ao:growth=16")
    assert run.peak_heap_bytes == trace.provenance["peak_heap_bytes"]
    assert run.max_live_bytes <= LIVE


@pytest.mark.parametrize("name", ["first-fit-ao", "abt-ff"])
def test_progress_counts_the_events(name):
    reported = []
    trace = attack("robson", name, live=LIVE, largest=LARGEST, progress=reported.append)
    assert sum(reported) == len(trace)


@pytest.mark.parametrize("name", ["first-fit-ao", "best-fit-ao"])
def test_robson_meets_his_bound_to_the_byte(name):
    trace = attack("robson", f"{name}:growth=16", live=1 << 14, largest=1 << 6)
    assert trace.provenance["peak_heap_bytes"] == robson_bound(1 << 14, 1 << 6)


def test_first_fit_by_hand():
    trace = attack("against-first-fit", "first-fit-ao:growth=16", live=16, largest=4)
    # 16 objects of 1 byte. Half of them are replaced by 4 of 2 bytes. The objects at 15 and 18 are
    # replaced by one of 3 bytes, the objects at 1, 5, 9 and 22 by one of 4.
    freed = trace.object[trace.op == Op.FREE].tolist()
    assert freed == [0, 2, 4, 6, 8, 10, 12, 14, 15, 17, 1, 5, 9, 19]
    assert trace.size[trace.op == Op.MALLOC].tolist() == [1] * 16 + [2] * 4 + [3, 4]
    assert trace.provenance["peak_heap_bytes"] == 16 + 4 * 2 + 3 + 4


def test_what_goes_leaves_gaps_that_are_too_small():
    placed = Placed(np.arange(5), np.array([1, 1, 1, 2, 1]), np.array([1, 3, 5, 6, 9]))
    # Each object alone leaves a gap of 3 bytes, but the object at 5 leaves 2. The last object
    # stays.
    assert spare(placed, 4).tolist() == [True, False, True, False, False]
    assert spare(placed, 3).tolist() == [False, False, True, False, False]
    assert not spare(placed.where(placed.number == 0), 4).any()


@pytest.mark.parametrize("name", ["first-fit-ao", "best-fit-ao", "next-fit-ao"])
def test_first_fit_needs_three_quarters_of_live_times_the_logarithm(name):
    live, largest = 1 << 14, 1 << 6
    trace = attack("against-first-fit", f"{name}:growth=16", live=live, largest=largest)
    heap = trace.provenance["peak_heap_bytes"]
    assert heap > 1.2 * robson_bound(live, largest)
    assert 3 / 4 < heap / first_fit_bound(live, largest) < 1
    assert max(trace.replayed.live) <= live


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
    # The objects are at 0 to 3, 4 to 6, and 7 to 8. Each contains a multiple of 4, but the second
    # contains none of 3, 7, 11 ...
    assert occupying(placed, 0, 4).tolist() == [True, True, True]
    assert occupying(placed, 3, 4).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"name": "tarzan"}, "unknown workload 'tarzan'"),
        ({"name": "robson"}, "needs a policy to play against"),
        ({"name": "hyper", "policy": "first-fit-ao"}, "does not play against a policy"),
        ({"name": "robson", "policy": "first-fit-ao", "largest": 3}, "a power of two"),
        (
            {"name": "robson", "policy": "first-fit-ao", "live": 4},
            "live is 4; use a number from 256",
        ),
        ({"name": "robson", "policy": "best-possible"}, "needs the whole trace in advance"),
    ],
)
def test_what_cannot_be_played(arguments, complaint):
    with pytest.raises(SimallocError, match=complaint):
        simalloc.workload(**arguments)
