"""All measurements of the page, made in one run."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.mallocs import Progress
from experiments.mallocs_of_today.maps import Drawn, draw, extremes
from experiments.mallocs_of_today.measuring import Measured, replays
from experiments.mallocs_of_today.seeds import Seeded, seeds


@dataclass(frozen=True)
class Results:
    """The replays, the maps of two programs, and the effects of seeds."""

    replays: list[Measured]
    loses: Drawn
    wins: Drawn
    seeds: list[Seeded]


def measure(progress: Progress) -> Results:
    """Make all measurements."""
    found = replays(progress)
    loses, wins = (draw(program, progress) for program in extremes(found))
    return Results(found, loses, wins, seeds(progress))
