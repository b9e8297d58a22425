"""Reads an allocator's statistics from a file, whichever allocator wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from simalloc.process.statistics.jemalloc import read_jemalloc
from simalloc.process.statistics.malloc_info import read_malloc_info
from simalloc.process.statistics.statistics import Statistics
from simalloc.process.statistics.tcmalloc import read_tcmalloc
from simalloc.process.target import ProcessError

_MAX_BYTES: Final = 64 << 20


def read_statistics(path: Path) -> Statistics:
    """Return an allocator's report in a file.

    The file contains the XML of glibc's `malloc_info`, the JSON of jemalloc's `malloc_stats_print`
    or the text of tcmalloc's `GetStats`. Raises `ProcessError` for any other content.
    """
    if path.stat().st_size > _MAX_BYTES:
        raise ProcessError(f"{path} is too long to be an allocator's statistics")
    content = path.read_bytes()
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
