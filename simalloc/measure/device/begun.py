"""A device's trace with requests added in front that reproduce its initial state.

When a recording begins, live blocks are in segments that were allocated long before, with free
blocks between them. The added requests bring the model's allocator into the same state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from simalloc.trace import Op, Trace

_MIB: Final = 1 << 20
_SMALL: Final = 2 * _MIB
"""Size in bytes of a segment for requests of up to 1 MiB."""
_UNIT: Final = 512


class _Piece(NamedTuple):
    """A run of addresses in a segment: the live object (-1 if free), and the number of bytes."""

    object: int
    size: int


def begun(trace: Trace) -> tuple[Trace, int] | None:
    """Return a trace that begins with the recorded device's own state, and its segments.

    The result is None if the trace does not describe a start, or if it cannot be rebuilt. Three
    starts cannot be rebuilt: segments that grow page by page, sizes rounded to divisions of powers
    of two, and blocks that no sequence of requests produces.
    """
    device = trace.provenance.get("device")
    start = device.get("start") if isinstance(device, dict) else None
    if not start or trace.stream is None or trace.pool is None:
        return None
    if "roundup_power2" in str(device and device.get("settings", "")):
        return None
    places = np.array(start["addresses"], np.int64)
    events: list[tuple[int, int, int, int, int]] = []  # op, key, size, stream, pool
    gone: list[tuple[int, int, int, int, int]] = []
    ours = -1
    for address, size, stream, pool in start["segments"]:
        inside = np.flatnonzero((places >= address) & (places < address + size))
        pieces = _pieces(places[inside] - address, trace.size[inside], inside, size)
        if pieces is None:
            return None
        whole = _UNIT if size == _SMALL else size
        events += [(Op.MALLOC, ours, whole, stream, pool), (Op.FREE, ours, 0, stream, pool)]
        ours -= 1
        later: list[tuple[int, int, int, int, int]] = []
        for piece in pieces:
            events.append((Op.MALLOC, ours, piece.size, stream, pool))
            (gone if piece.object < 0 else later).append((Op.FREE, ours, 0, stream, pool))
            if piece.object >= 0:
                requested = int(trace.size[piece.object])
                later.append((Op.MALLOC, piece.object, requested, stream, pool))
            ours -= 1
        events += later
    return _joined(trace, len(places), [*events, *gone]), len(start["segments"])


def _pieces(offsets: Any, sizes: Any, objects: Any, length: int) -> list[_Piece] | None:
    """Return the pieces of a segment, in order, or None if requests cannot produce them."""
    small = length == _SMALL
    pieces: list[_Piece] = []
    begins = [*zip(offsets.tolist(), sizes.tolist(), objects.tolist(), strict=True)]
    edges = [*(offset for offset, _, _ in begins), length]
    if edges[0]:
        pieces += _free(edges[0], small=small)
    for (offset, size, number), (_, following) in zip(begins, pairwise(edges), strict=True):
        block = -(-max(size, 1) // _UNIT) * _UNIT
        gap = following - offset - block
        if gap < 0:
            return None
        if not small and gap <= _MIB:
            block, gap = block + gap, 0
        pieces.append(_Piece(number, block))
        if gap:
            pieces += _free(gap, small=small)
    fits = (piece.size <= _MIB if small else piece.size > _MIB for piece in pieces)
    return pieces if all(fits) else None


def _free(size: int, *, small: bool) -> Iterator[_Piece]:
    """Yield free pieces of `size` bytes in total, each small enough for the segment's requests."""
    most = _MIB if small else size
    for begin in range(0, size, most):
        yield _Piece(-1, min(most, size - begin))


def _joined(trace: Trace, first: int, events: Sequence[tuple[int, int, int, int, int]]) -> Trace:
    """Return a trace in which `events` replace the `first` events."""
    op, key, size, stream, pool = np.array(events, np.int64).reshape(-1, 5).T
    keys = np.concatenate((key, trace.object[first:]))
    ops = np.concatenate((op, trace.op[first:])).astype(np.uint8)
    born = np.flatnonzero(ops == Op.MALLOC)
    known, order = np.unique(keys[born], return_inverse=True)
    numbers = np.empty(len(known), np.int64)
    numbers[order] = np.arange(len(born))
    objects = np.full(len(keys), -1, np.int64)
    is_object = np.isin(keys, known)
    objects[is_object] = numbers[np.searchsorted(known, keys[is_object])]
    assert trace.stream is not None, "begun() has checked that the trace has streams and pools"
    assert trace.pool is not None, "begun() has checked that the trace has streams and pools"
    return Trace.from_events(
        ops,
        objects,
        np.concatenate((size, trace.size[first:])),
        name=trace.name,
        provenance=trace.provenance,
        stream=np.concatenate((stream, trace.stream[first:])),
        pool=np.concatenate((pool, trace.pool[first:])),
    )
