"""The type of options whose value is a size, such as 4K."""

from __future__ import annotations

import click

from simalloc.errors import SimallocError
from simalloc.sizes import parse_size


class Size(click.ParamType[int]):
    """A size of at least `least` bytes."""

    name = "size"

    def __init__(self, least: int = 0) -> None:
        self.least = least

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the size in bytes, or fail."""
        try:
            size = parse_size(str(value))
        except SimallocError as error:
            self.fail(str(error), param, ctx)
        if size < self.least:
            self.fail(f"{value!r} is too small; the minimum is {self.least:,}", param, ctx)
        return size
