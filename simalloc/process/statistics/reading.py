"""Reader of any supported allocator's statistics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Final

from simalloc.process.statistics.jemalloc import read_jemalloc
from simalloc.process.statistics.malloc_info import read_malloc_info
from simalloc.process.statistics.statistics import Statistics
from simalloc.process.statistics.tcmalloc import read_tcmalloc
from simalloc.process.target import ProcessError

_MAX_BYTES: Final = 64 << 20
_MAX_FIGURE: Final = (1 << 63) - 1


def read_statistics(path: Path) -> Statistics:
    """Return an allocator's report in a file.

    The file must contain the XML of glibc's `malloc_info`, the JSON of jemalloc's
    `malloc_stats_print` or the text of tcmalloc's `GetStats`. Raises `ProcessError` for other
    content.
    """
    if path.stat().st_size > _MAX_BYTES:
        raise ProcessError(f"{path} is too long to be an allocator's statistics")
    found = _read(path.read_bytes(), path)
    if max(_figures(found)) > _MAX_FIGURE:
        raise ProcessError(f"{path} states more bytes or blocks than a machine can have")
    return found


def _read(content: bytes, path: Path) -> Statistics:
    if b"<malloc" in content:
        return read_malloc_info(content, str(path))
    if content.lstrip()[:1] == b"{":
        return read_jemalloc(content.strip(), str(path))
    if b"MALLOC:" in content:
        return read_tcmalloc(content, str(path))
    raise ProcessError(
        f"{path} is neither a core file nor an allocator's statistics (the XML of malloc_info, "
        "jemalloc's JSON, tcmalloc's text)"
    )


def _figures(found: Statistics) -> Iterator[int]:
    """Yield all numbers of bytes and of blocks."""
    yield found.system
    yield from (size for _, size in found.named)
    parts = [*map(astuple, found.arenas), *map(astuple, found.classes)]
    yield from (figure for part in parts for figure in part if isinstance(figure, int))
