"""Optional packages, imported when they are first needed."""

from __future__ import annotations

from typing import Any

from simalloc.errors import SimallocError


def pandas() -> Any:
    """Return pandas. Raises `SimallocError`, with the command to install it, if it is missing."""
    try:
        import pandas as pd  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise SimallocError("data frames need pandas: pip install 'simalloc[frame]'") from error
    return pd
