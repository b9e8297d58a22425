"""Collapsed stacks: a line for each call path, outermost frame first, with its weight.

flamegraph.pl, inferno and speedscope read this format.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from simalloc.report.profiles.whole import whole_numbers
from simalloc.report.sites import spell_frame

if TYPE_CHECKING:
    from simalloc.measure.sites import Frame, Profile


def collapsed(profile: Profile, _name: str, measure: str) -> bytes:
    """Return a line for each call path whose measure is not 0."""
    weights: Counter[str] = Counter()
    for path, weight in zip(profile.paths, whole_numbers(profile.values[measure]), strict=True):
        weights[";".join(map(_spelled, reversed(path)))] += weight
    lines = (f"{stack} {weight}\n" for stack, weight in weights.items() if weight)
    return "".join(lines).encode()


def _spelled(frame: Frame) -> str:
    """Return a frame without the characters that end frames and lines."""
    return " ".join(spell_frame(frame).replace(";", ":").split())
