"""The kept readings of Johnstone & Wilson's text equal the results of a replay."""

from own_readings import kept

from experiments.johnstone_wilson.growth_unit import SEQUENTIAL
from experiments.johnstone_wilson.readings import FITTED, OWN_JOBS, Reading, outcomes
from experiments.johnstone_wilson.replays import replay_apart


def test_what_is_kept_is_what_a_replay_gives():
    """On P2C in one of the readings, on Ghostscript in one for a row: all take minutes."""
    wanted = {
        *(FITTED[8].job("p2c", row) for row in SEQUENTIAL),
        Reading(high=True).job("ghostscript", SEQUENTIAL[0]),
    } & OWN_JOBS
    assert len(wanted) > 1
    again = outcomes(replay_apart(wanted, lambda _: None))
    known = kept()
    assert again == {job: known[job] for job in wanted}
