"""The text of tcmalloc's statistics: `GetStats` of gperftools and of Google's tcmalloc."""

from __future__ import annotations

import re
from typing import Final

from simalloc.process.statistics.statistics import ClassFigures, Statistics
from simalloc.process.target import ProcessError

_LINE: Final = re.compile(r"^MALLOC:\s*[=+-]?\s*(\d{1,19})\s*\([^)]*\)\s*(.+?)\s*$", re.MULTILINE)
_CLASS: Final = re.compile(
    r"^class\s+\d+\s*\[\s*(\d{1,19}) bytes\s*\]\s*:\s*(\d{1,19}) objs", re.MULTILINE
)
_USED: Final = "Bytes in use by application"
_TOTAL: Final = "Virtual address space used"
_SUMS: Final = ("Actual memory used", "Virtual address space used")


def read_tcmalloc(content: bytes, source: str) -> Statistics:
    """Return the figures. Raises `ProcessError` if the text is not from tcmalloc."""
    text = content.decode("utf-8", "replace")
    found = [(label, int(size)) for size, label in _LINE.findall(text)]
    sizes = dict(found)
    if _USED not in sizes:
        raise ProcessError(f"{source}: has no line `MALLOC: ... {_USED}` of tcmalloc")
    named = [
        (label.removeprefix("Bytes "), size)
        for label, size in found
        if size and not label.startswith(_SUMS) and "Bytes" in label
    ]
    classes = [
        ClassFigures(f"{int(size):,}", None, int(count), None, int(size) * int(count))
        for size, count in _CLASS.findall(text)
    ]
    classes.sort(key=lambda one: -(one.free or 0))
    system = sizes.get(_TOTAL, sum(size for _, size in named))
    return Statistics("tcmalloc", source, system, named, [], classes,
                      ["Blocks of a class are free in caches or in spans."])  # fmt: skip
