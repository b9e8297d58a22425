"""Heap maps as data for the script that colours them."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from simalloc.report.palettes import PALETTES, age_shades

if TYPE_CHECKING:
    from simalloc.measure import HeapMap

_SHADES: Final = 256
AGE_DECADES: Final = 4.0
"""Number of powers of ten below the oldest age that colours distinguish."""


def cells(shown: HeapMap, oldest: float) -> bytes:
    """Return the cells of a map as planes of bytes, row by row from the lowest address.

    The first plane is the live share of each cell, and the second its age on a log scale that ends
    at `oldest`. If the map distinguishes mapped memory, a third plane marks the mapped cells.
    """
    share = np.ceil(np.clip(shown.live, 0, 1) * 255).astype(np.uint8)
    age = np.zeros(share.shape, np.uint8)
    lived = share > 0
    decades = np.log10(np.maximum(shown.age[lived], 1.0) / oldest)
    age[lived] = np.round(np.clip(1 + decades / AGE_DECADES, 0, 1) * 255)
    mapped = b"" if shown.mapped is None else shown.mapped.astype(np.uint8).tobytes()
    return share.tobytes() + age.tobytes() + mapped


def packed(planes: bytes, level: int) -> str:
    """Return deflated bytes in base 64."""
    return base64.b64encode(zlib.compress(planes, level)).decode()


def raster(shown: HeapMap) -> dict[str, Any]:
    """Return the positions of the cells of a map, as the fields of the script's class Raster."""
    rows, columns = shown.live.shape
    return {
        "columns": columns,
        "rows": rows,
        "left": shown.first_event,
        "cellEvents": shown.cell_events,
        "low": shown.lowest_address,
        "cellBytes": shown.cell_bytes,
        "heap": [round(value) for value in shown.heap.tolist()],
        "mapped": shown.mapped is not None,
    }


def shared_scales(maps: Sequence[HeapMap]) -> tuple[float, float]:
    """Return the maximum age in events and the maximum heap in bytes of several maps."""
    oldest = max(float(np.nanmax(one.age, initial=10.0)) for one in maps)
    return oldest, max(float(one.heap.max()) for one in maps)


def shades() -> dict[str, list[str]]:
    """Return the colours of ages in both themes, from the youngest to the oldest."""
    return {theme: age_shades(palette, _SHADES) for theme, palette in PALETTES.items()}
