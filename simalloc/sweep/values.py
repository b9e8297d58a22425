"""Values of a plan that may be one or several."""

from __future__ import annotations

from typing import Any


def listed(value: Any) -> list[Any]:
    """Return the values of a key that holds one value or a list of them."""
    return list(value) if isinstance(value, (list, tuple)) else [value]
