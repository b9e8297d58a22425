"""Numbers of things, as messages say them."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: `1 event`, `2,000 events`; `many` for an irregular plural."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
