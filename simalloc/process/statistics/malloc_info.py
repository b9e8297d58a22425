"""The XML of glibc's `malloc_info`."""

from __future__ import annotations

from collections.abc import Mapping as Map
from dataclasses import dataclass, field
from typing import Final, NoReturn
from xml.parsers import expat

from simalloc.process.statistics.statistics import ArenaFigures, ClassFigures, Statistics
from simalloc.process.target import ProcessError

_MAX_ELEMENTS: Final = 1_000_000
_GRAIN: Final = 16


@dataclass
class _Heap:
    name: str
    totals: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Count and size of `fast`, `rest` and `mmap`."""
    current: int = 0
    sizes: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Smallest and largest size, bytes and count of free chunks."""


class _Reader:
    """Collects the elements. A document type or an entity is refused."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.heaps: list[_Heap] = []
        self.whole = _Heap("total")
        self._at = self.whole
        self._elements = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse

    def _refuse(self, *_: object) -> NoReturn:
        raise ProcessError(
            f"{self._source}: not written by malloc_info, which writes no document type and "
            "no entities"
        )

    def _start(self, name: str, attributes: Map[str, str]) -> None:
        self._elements += 1
        if self._elements > _MAX_ELEMENTS:
            raise ProcessError(f"{self._source}: has more elements than malloc_info writes")
        if name == "heap":
            self._at = _Heap(attributes.get("nr", str(len(self.heaps))))
            self.heaps.append(self._at)
        elif name == "total":
            self._at.totals[attributes["type"]] = int(attributes["count"]), int(attributes["size"])
        elif name == "system" and attributes["type"] == "current":
            self._at.current = int(attributes["size"])
        elif name in {"size", "unsorted"}:
            count, total = int(attributes["count"]), int(attributes["total"])
            low, high = int(attributes["from"]), int(attributes["to"])
            self._at.sizes.append((low, high, total, count))

    def _end(self, name: str) -> None:
        if name == "heap":
            self._at = self.whole


def read_malloc_info(content: bytes, source: str) -> Statistics:
    """Return the figures. Raises `ProcessError` if the XML is not from `malloc_info`."""
    start = content.index(b"<malloc")
    end = content.rfind(b"</malloc>")
    if end < 0:
        raise ProcessError(f"{source}: the XML of malloc_info ends early")
    reader = _Reader(source)
    try:
        reader.parser.Parse(content[start : end + len(b"</malloc>")], True)  # noqa: FBT003
    except expat.ExpatError as error:
        raise ProcessError(f"{source}, line {error.lineno}: not XML: {error}") from None
    except (KeyError, ValueError) as error:
        raise ProcessError(
            f"{source}, line {reader.parser.CurrentLineNumber}: not written by malloc_info: {error}"
        ) from None
    if not reader.heaps:
        raise ProcessError(f"{source}: malloc_info lists no heap")
    return _statistics(reader, source)


def _statistics(reader: _Reader, source: str) -> Statistics:
    arenas = [_arena(heap) for heap in reader.heaps]
    mapped = reader.whole.totals.get("mmap", (0, 0))[1]
    named = [
        ("in use or in thread caches", sum(arena.used for arena in arenas)),
        ("free between other blocks", sum(arena.free for arena in arenas)),
        ("free at the top of arenas", sum(arena.top or 0 for arena in arenas)),
        ("in blocks mapped on their own", mapped),
    ]
    return Statistics(
        "glibc", source, sum(arena.bytes for arena in arenas) + mapped, named, arenas,
        _classes(reader.heaps), ["malloc_info counts blocks in thread caches as in use."],
    )  # fmt: skip


def _arena(heap: _Heap) -> ArenaFigures:
    _, fast = heap.totals.get("fast", (0, 0))
    count, rest = heap.totals.get("rest", (1, 0))
    chunks = max(0, count - 1)  # each size includes a flag; the extra chunk is the top chunk
    in_bins = sum(total for _, _, total, _ in heap.sizes) - fast
    top = max(0, rest - in_bins)
    free = max(0, in_bins - chunks) + fast
    return ArenaFigures(heap.name, heap.current, max(0, heap.current - free - top), free, top)


def _classes(heaps: list[_Heap]) -> list[ClassFigures]:
    sums: dict[tuple[int, int], list[int]] = {}
    for heap in heaps:
        for low, high, total, count in heap.sizes:
            one = sums.setdefault(_bounds(low, high), [0, 0])
            one[0] += total - (count if high % _GRAIN else 0)
            one[1] += count
    return [
        ClassFigures(_spell(low, high), None, count, None, total)
        for (low, high), (total, count) in sorted(sums.items(), key=lambda pair: -pair[1][0])
        if count
    ]


def _bounds(low: int, high: int) -> tuple[int, int]:
    """Return the true sizes in a line.

    Sizes in bins include a flag, and a fast list has one size.
    """
    if high % _GRAIN == 0:
        return high, high
    return low // _GRAIN * _GRAIN, high // _GRAIN * _GRAIN


def _spell(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
