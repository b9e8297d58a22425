"""Numbers as options take them."""

from __future__ import annotations

from math import isnan
from typing import Any

import click


class Number(click.FloatRange):
    """A number in a range. It refuses "nan", for which the comparisons with both limits fail."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Fails for text, for "nan", and out of the range."""
        number = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number
