"""The paper's printed figures: table 2, and the numbers in its text."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class Program(NamedTuple):
    """A row of table 2; `average_live` is in megabytes, `average_request` in bytes."""

    name: str
    allocations: int
    deallocations: int
    average_request: float
    average_live: float


@cache
def printed() -> dict[str, Any]:
    """Return the content of `published.toml`."""
    return tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))


def programs() -> tuple[Program, ...]:
    """Return the rows of table 2."""
    return tuple(Program(name, *row) for name, row in printed()["programs"].items())
