"""Text for bytes, events and percentages, in tables, figures and pages."""

from __future__ import annotations

import math
from typing import Final

from simalloc.report.table import Rounded
from simalloc.sizes import BYTE_UNITS

MAX_SHOWN: Final = 1000
"""Largest fraction that is shown in full: 100,000 %."""
_LONGEST_PERCENT: Final = 2
"""Maximum number of decimals."""


def byte_step(top: float) -> float:
    """Return a distance, round in its unit, for at most seven marks from 0 to `top` bytes."""
    unit = next((unit for unit, _ in BYTE_UNITS if top >= unit), 1)
    steps = (0.25, 0.5, *(step * scale for scale in (1, 10, 100) for step in (1, 2, 2.5, 5, 10)))
    return unit * next(step for step in steps if top / unit <= 6 * step)


def spell_events(count: float) -> str:
    """Spell a number of events: 1,500,000 is 1.5 M."""
    for unit, name in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(count) >= unit:
            return f"{count / unit:.4g}{name}"
    return f"{count:.4g}"


def percent(fraction: float) -> Rounded:
    """Return a fraction in percent as Johnstone & Wilson print it: 0.26, 9.98, 45.8, 162, 13,328.

    The result has three significant digits, but at most two decimals.
    """
    value = 100 * fraction
    for decimals in range(_LONGEST_PERCENT, 0, -1):
        if round(abs(value), decimals) < 10 ** (3 - decimals):
            return Rounded(value, decimals)
    return Rounded(value, 0)


def bounded_percent(fraction: float) -> Rounded:
    """Return a fraction in percent as `percent` does. Above 100,000 %, its text is only this bound.

    A heap exceeds its live bytes by such a factor only while almost no byte is live.
    """
    value = percent(fraction)
    if fraction > MAX_SHOWN:
        value.text = f"> {100 * MAX_SHOWN:,}"
    return value


def spell_percent(fraction: float) -> str:
    """Return a measured fraction in percent, such as `45.8 %`, or an empty text for nan."""
    return "" if math.isnan(fraction) else f"{percent(fraction).text} %"


def spell_share(share: float) -> str:
    """Return a chosen share without rounding: `99.9 %`, `90 %`."""
    return f"{100 * share:.4g} %"
