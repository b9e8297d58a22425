"""What may be given as one or as several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def listed(value: Any) -> list[Any]:
    """Return the values of what is one value, a text among them, or several."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    return list(value)
