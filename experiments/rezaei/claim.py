"""A statement of the paper beside what is measured."""

from __future__ import annotations

from typing import NamedTuple


class Claim(NamedTuple):
    """A statement, where it stands in the paper, what is measured, and whether that agrees."""

    name: str
    section: str
    text: str
    here: str
    holds: bool
