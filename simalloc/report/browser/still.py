"""Still picture of a heap map, which a page shows until its script has run, and in print."""

from __future__ import annotations

import base64
import struct
import zlib
from math import ceil
from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.report.browser.cells import AGE_DECADES
from simalloc.report.palettes import PALETTES, age_shades

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.measure import HeapMap

_AGES: Final = 36
_STRENGTHS: Final = 7
"""Steps of the live share. Steps times ages, and two plain colours, fit a palette of 256."""
_NO_MEMORY: Final = _AGES * _STRENGTHS
_FREE: Final = _NO_MEMORY + 1
_STRENGTH: Final = 0.75  # same as in heap_map.js


def still(shown: HeapMap, oldest: float, top: float) -> str:
    """Return a map up to the address `top`, as a PNG in light colours in a `data:` URL."""
    return "data:image/png;base64," + base64.b64encode(_png(_places(shown, oldest, top))).decode()


def _places(shown: HeapMap, oldest: float, top: float) -> NDArray[np.uint8]:
    """Return the index in the palette of the colour of each cell, the highest address first."""
    rows, columns = shown.live.shape
    strength = np.ceil(np.clip(shown.live, 0, 1) ** _STRENGTH * _STRENGTHS)
    decades = np.log10(np.maximum(np.nan_to_num(shown.age, nan=1.0), 1.0) / oldest)
    age = np.rint(np.clip(1 + decades / AGE_DECADES, 0, 1) * (_AGES - 1))
    middle = shown.lowest_address + (np.arange(rows)[:, np.newaxis] + 0.5) * shown.cell_bytes
    memory = middle < shown.heap if shown.mapped is None else shown.mapped
    cells = np.where(strength > 0, age * _STRENGTHS + strength - 1, _FREE)
    height = max(rows, ceil((top - shown.lowest_address) / shown.cell_bytes))
    places = np.full((height, columns), _NO_MEMORY, np.uint8)
    places[:rows] = np.where(memory, cells, _NO_MEMORY)
    return places[::-1]


def _palette() -> bytes:
    light = PALETTES["light"]
    shades = np.array([_rgb(shade) for shade in age_shades(light, _AGES)])[:, np.newaxis]
    strength = np.arange(1, _STRENGTHS + 1)[:, np.newaxis] / _STRENGTHS
    mixed = strength * shades + (1 - strength) * np.array(_rgb(light.free))
    plain = bytes((*_rgb(light.paper), *_rgb(light.free)))
    return bytes(np.rint(mixed).astype(np.uint8)) + plain


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour.removeprefix("#")))


def _png(places: NDArray[np.uint8]) -> bytes:
    """Return a PNG with one byte per pixel: the index of its colour in the palette."""
    height, width = places.shape
    rows = np.zeros((height, width + 1), np.uint8)  # a row begins with its filter, 0 for none
    rows[:, 1:] = places
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (
        (b"IHDR", header),
        (b"PLTE", _palette()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_part(*part) for part in parts)


def _part(kind: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checksum
