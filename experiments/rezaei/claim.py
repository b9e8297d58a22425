"""A statement of the paper beside the measurements."""

from __future__ import annotations

from typing import NamedTuple


class Claim(NamedTuple):
    """A statement, its section in the paper, the measurement, and whether they agree."""

    name: str
    section: str
    text: str
    here: str
    holds: bool
