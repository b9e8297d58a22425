"""Every reading of Johnstone & Wilson's text: that what is kept is true."""

import pytest
from paper_pages import no_progress

from experiments.johnstone_wilson.every_reading import (
    READINGS,
    jobs,
    kept,
    key,
    measure,
    rankings,
)
from experiments.johnstone_wilson.growth_unit import SEQUENTIAL
from experiments.johnstone_wilson.programs import GENUINE
from experiments.johnstone_wilson.readings import CHOSEN, FITTED, Reading


@pytest.fixture(scope="module")
def measured():
    return kept()


@pytest.fixture(scope="module")
def found(measured):
    return rankings(measured)


def test_nothing_is_kept_but_what_is_asked_for(measured):
    assert set(measured) == {key(job) for job in jobs(GENUINE)}
    assert {len(one) for one in READINGS.values()} == {3, 16, 32, 48}


def test_what_is_kept_is_what_a_replay_gives(measured):
    """On P2C in two of sixteen readings, on Ghostscript in one for a row: all take minutes."""
    wanted = {
        *(one.job("p2c", row) for one in FITTED[::8] for row in SEQUENTIAL),
        *(Reading(high=True, enters=True).job("ghostscript", row) for row in SEQUENTIAL[:1]),
    }
    again = measure(wanted, no_progress)
    assert len(again) == len(wanted)
    assert again == {which: measured[which] for which in again}


def test_p2c_chooses_the_reading_of_the_catalogue(found):
    best = next(iter(found["p2c"].values()))
    assert found["p2c"][CHOSEN].equal == best.equal
    assert len(FITTED) == 16
