"""Values of a plan that may be one or several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def listed(value: Any) -> list[Any]:
    """Return the values of a key that holds one value or several."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    return list(value)
