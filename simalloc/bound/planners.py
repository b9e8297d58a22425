"""Static planners of production compilers and runtimes, by their published rules.

A planner knows every buffer's lifetime and size. Most planners sort the buffers and place each in a
gap between those placed earlier. The others process events in the order of time. Addresses are
offsets in one arena, and sizes are not rounded (the policy's `alignment` does that).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.bound._c import place_in_order
from simalloc.bound.timetable import NONE, Timetable
from simalloc.errors import PolicyError

Ints = NDArray[np.int64]

MAX_BUFFERS: Final = 1 << 16
"""Maximum number of buffers. Planners compare buffers in pairs."""


def planned(table: Timetable, rule: str) -> Ints:
    """Return the address (int64, bytes) that a planner assigns to each life of a trace.

    Raises `PolicyError` for more than `MAX_BUFFERS` lives.
    """
    if len(table) > MAX_BUFFERS:
        raise PolicyError(
            f"this trace has {len(table):,} objects; a planner compares objects in pairs "
            f"and takes up to {MAX_BUFFERS:,}"
        )
    return RULES[rule](table)


def _in_order(table: Timetable, keys: list[Ints], *, smallest: bool) -> Ints:
    """Place lives in ascending order of the keys, the first key first; at a tie, by birth."""
    order = np.lexsort(keys[::-1]).astype(np.uint32)
    address = np.zeros(len(table), np.int64)
    place_in_order(table.columns, order, address, smallest=smallest)
    return address


def _length(table: Timetable) -> Ints:
    return table.died - table.born


def tflite_micro(table: Timetable) -> Ints:
    """Place by decreasing size, each in the lowest gap."""
    return _in_order(table, [-table.size], smallest=False)


def tflite_gpu_size(table: Timetable) -> Ints:
    """Place by decreasing size, each in the smallest gap."""
    return _in_order(table, [-table.size], smallest=True)


def tflite_gpu_breadth(table: Timetable) -> Ints:
    """Place by decreasing live bytes at a buffer's highest moment, then by decreasing size."""
    peak = _highest(table.live, table.born, table.died)
    breadth = table.live[peak]
    return _in_order(table, [-breadth, peak, -table.size], smallest=True)


def xla_spatial(table: Timetable) -> Ints:
    """Place by decreasing size, then decreasing lifetime, each in the smallest gap."""
    return _in_order(table, [-table.size, -_length(table)], smallest=True)


def xla_temporal(table: Timetable) -> Ints:
    """Place by decreasing lifetime, then decreasing size, each in the smallest gap."""
    return _in_order(table, [-_length(table), -table.size], smallest=True)


def iree(table: Timetable) -> Ints:
    """Place in the order of births, each in the smallest gap."""
    return _in_order(table, [table.born], smallest=True)


def executorch(table: Timetable) -> Ints:
    """Share objects: by decreasing size, each buffer joins the first object with enough space.

    An object is as large as its first buffer. The first choice is an object in which no buffer is
    live together with the new one. The second choice is an object with enough space above the
    buffers that are live together with the new one. Without either, the buffer gets a new object.
    """
    count = len(table)
    sizes: list[int] = []
    placed = np.argsort(-table.size, kind="stable")
    owner, top = np.zeros((2, count), np.int64)  # by position in the order
    born, died, size = (each[placed] for each in (table.born, table.died, table.size))
    for number in range(count):
        meets = (born[:number] < died[number]) & (born[number] < died[:number])
        tops = np.zeros(len(sizes) + 1, np.int64)
        np.maximum.at(tops, owner[:number][meets], top[:number][meets])
        room = np.append(tops[:-1] + size[number] <= np.array(sizes, np.int64), True)
        empty = tops[:-1] == 0
        chosen = int(empty.argmax()) if empty.any() else int(room.argmax())
        if chosen == len(sizes):
            sizes.append(int(size[number]))
        owner[number], top[number] = chosen, tops[chosen] + size[number]
    start = np.cumsum([0, *sizes])
    address = np.empty(count, np.int64)
    address[placed] = start[owner] + top - size
    return address


def ggml(table: Timetable) -> Ints:
    """Process events in order: take the smallest free block, of equal ones the highest.

    The space above all blocks is used only if no free block fits.
    """
    address = np.zeros(len(table), np.int64)
    free: list[tuple[int, int]] = []  # ascending; addresses above `top` are free
    top = 0
    for begins, ends in zip(table.begins.tolist(), table.ends.tolist(), strict=True):
        if ends != NONE:
            _give_back(free, int(address[ends]), int(address[ends] + table.size[ends]))
            if free[-1][1] == top:
                top = free.pop()[0]
        if begins != NONE:
            size = int(table.size[begins])
            fits = [(end - begin, -begin) for begin, end in free if end - begin >= size]
            if fits:
                length, low = min(fits)
                _take(free, -low, length, size)
                address[begins] = -low
            else:
                address[begins] = top
                top += size
    return address


def mlir_merge_alloc(table: Timetable) -> Ints:
    """Process events in order: take the smallest free chunk that fits or extend the largest."""
    address = np.zeros(len(table), np.int64)
    free: list[tuple[int, int]] = []
    end_of_buffer = 0
    for begins, ends in zip(table.begins.tolist(), table.ends.tolist(), strict=True):
        if ends != NONE:
            _give_back(free, int(address[ends]), int(address[ends] + table.size[ends]))
        if begins == NONE:
            continue
        size = int(table.size[begins])
        fits = [(end - begin, begin) for begin, end in free if end - begin >= size]
        if fits:
            length, low = min(fits)
        elif free:
            length, low = max((end - begin, -begin) for begin, end in free)
            low = -low
            more = size - length
            born = np.arange(len(table)) < begins
            address[born & (address >= low + length)] += more
            free = [(begin + more, end + more) if begin > low else (begin, end)
                    for begin, end in free]  # fmt: skip
            free[free.index((low, low + length))] = (low, low + size)
            length, end_of_buffer = size, end_of_buffer + more
        else:
            low, length = end_of_buffer, size
            end_of_buffer += size
            free.append((low, low + size))
        _take(free, low, length, size)
        address[begins] = low
    return address


def _give_back(free: list[tuple[int, int]], begin: int, end: int) -> None:
    """Add a free block, merged with its neighbours."""
    place = bisect_left(free, (begin, end))
    if place < len(free) and free[place][0] == end:
        end = free.pop(place)[1]
    if place > 0 and free[place - 1][1] == begin:
        begin = free.pop(place - 1)[0]
    insort(free, (begin, end))


def _take(free: list[tuple[int, int]], begin: int, length: int, size: int) -> None:
    """Take the low end of a free block."""
    place = bisect_left(free, (begin, begin + length))
    free[place : place + 1] = [(begin + size, begin + length)] if size < length else []


def _highest(values: Ints, begin: Ints, end: Ints) -> Ints:
    """Return the index of the highest value from `begin` to `end - 1`, the first of equal ones.

    For every power of two, a table contains the index of the highest value in each span of that
    length.
    """
    found = np.arange(len(values))
    result = begin.copy()
    level = np.floor(np.log2(np.maximum(end - begin, 1))).astype(np.int64)
    for power in range(int(level.max(initial=0)) + 1):
        mine = level == power
        one, other = found[begin[mine]], found[end[mine] - (1 << power)]
        result[mine] = np.where(values[other] > values[one], other, one)
        step = 1 << power
        if step < len(found):
            one, other = found[:-step], found[step:]
            found = np.where(values[other] > values[one], other, one)
    return result


RULES: Final[Mapping[str, Callable[[Timetable], Ints]]] = MappingProxyType(
    {
        "tflite-micro": tflite_micro,
        "tflite-gpu-size": tflite_gpu_size,
        "tflite-gpu-breadth": tflite_gpu_breadth,
        "xla-spatial": xla_spatial,
        "xla-temporal": xla_temporal,
        "iree": iree,
        "mlir-merge-alloc": mlir_merge_alloc,
        "executorch": executorch,
        "ggml": ggml,
    }
)
"""Every planner by its name."""
