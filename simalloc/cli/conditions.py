"""Conditions on the runs of a result file, as command-line arguments."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from simalloc.sweep import Results


def condition(text: str) -> tuple[str, str]:
    """Return the name and the value of NAME=VALUE, a condition on a column or a parameter."""
    name, equals, wanted = text.partition("=")
    if not equals or not name.strip():
        raise click.BadParameter(f"{text!r} is not of the form NAME=VALUE")
    return name.strip(), wanted.strip()


def runs_in(path: Path, conditions: Iterable[tuple[str, str]]) -> Results:
    """Return the runs in a result file that meet all conditions."""
    results = Results.read(path)
    for name, value in conditions:
        results = results.where(**{name: value})
    return results
