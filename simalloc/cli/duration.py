"""The type of options whose value is a duration, such as 10m."""

from __future__ import annotations

import re
from typing import Final

import click

_UNITS: Final = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|)")


class Duration(click.ParamType[float]):
    """A duration above 0, in seconds."""

    name = "duration"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the duration in seconds, or fail."""
        found = _DURATION.fullmatch(str(value))
        seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
        if seconds <= 0:
            self.fail(
                f"{value!r} is not a duration. Write, for example, 90s, 10m or 1.5h", param, ctx
            )
        return seconds
