"""The type of options whose value is a number."""

from __future__ import annotations

from math import isnan
from typing import Any

import click


class Number(click.FloatRange):
    """A number in a range. It rejects "nan", which no comparison with a limit excludes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Fail for text, for "nan", and out of the range."""
        number = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number
