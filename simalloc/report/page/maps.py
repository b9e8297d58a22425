"""Heap maps as data for the page's script, which colours them, zooms and names objects."""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.colors import to_hex

from simalloc.policy import spell
from simalloc.report.figures.heap_map import age_colours
from simalloc.report.figures.style import PALETTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from simalloc.report.page.findings import Mapped

_SHADES: Final = 256
_AGE_DECADES: Final = 4.0
"""The colours of ages span so many powers of ten below the oldest."""


def map_data(mapped: Mapped, oldest: float, top: float) -> dict[str, Any]:
    """Return one map for the script; `oldest` and `top` are shared by maps that are compared.

    `cells` are two planes of bytes, row by row from the lowest address: the share that is live, and
    the age on a log scale that ends at `oldest`; deflated, in base 64.
    """
    shown, stays = mapped.map, mapped.stays
    share = np.ceil(np.clip(shown.live, 0, 1) * 255).astype(np.uint8)
    ages = np.nan_to_num(shown.age, nan=1.0)
    decades = np.log10(np.maximum(ages, 1.0) / oldest)
    age = np.round(np.clip(1 + decades / _AGE_DECADES, 0, 1) * 255).astype(np.uint8)
    age[share == 0] = 0
    return {
        "policy": spell(mapped.run.policy),
        "events": mapped.run.events,
        "columns": shown.live.shape[1],
        "rows": shown.live.shape[0],
        "cellEvents": shown.cell_events,
        "cellBytes": shown.cell_bytes,
        "top": top,
        "oldest": oldest,
        "decades": _AGE_DECADES,
        "heap": [round(value) for value in shown.heap.tolist()],
        "cells": _packed(share, age),
        "stays": [
            column.tolist()
            for column in (stays.object, stays.address, stays.requested, stays.since, stays.until)
        ],
    }


def shared_scales(mapped: Sequence[Mapped]) -> tuple[float, float]:
    """Return the greatest age, in events, and the largest heap, in bytes, of some maps."""
    oldest = max(float(np.nanmax(one.map.age, initial=10.0)) for one in mapped)
    return oldest, max(float(one.map.heap.max()) for one in mapped)


def shades() -> str:
    """Return the colours of ages in both themes, from the youngest, as JSON."""
    return json.dumps(
        {
            theme: [to_hex(age_colours(palette)(shade)) for shade in range(_SHADES)]
            for theme, palette in PALETTES.items()
        }
    )


def _packed(*planes: NDArray[np.uint8]) -> str:
    return base64.b64encode(zlib.compress(b"".join(p.tobytes() for p in planes), 9)).decode()
