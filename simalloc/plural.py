"""Numbers of things, as messages say them."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """Say how many there are: `1 event`, `2,000 events`; `many` if it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
