"""Logs in which a board reports its free bytes and its largest free block at intervals."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError

_NUMBER: Final = rb"\W{1,6}(\d{1,18})\b"
_FREE: Final = re.compile(
    rb"(?<!min[ _])(?<!minimum[ _])(?<!largest[ _])(?<!biggest[ _])(?<!max[ _])"
    rb"free(?:[ _]?(?:heap|size|bytes|memory|mem|space))*" + _NUMBER + rb"|(\d{1,18}) bytes free",
    re.IGNORECASE,
)
_LARGEST: Final = re.compile(
    rb"(?:largest|biggest|max[ _]?(?:free|alloc))(?:[ _]?(?:free|block|size|chunk))*" + _NUMBER,
    re.IGNORECASE,
)
_TIME: Final = re.compile(rb"[\sIWEDV\[(]*(?:(\d+):(\d+):)?(\d+(?:\.\d+)?)[\s,)\]]")
"""A time at the start of a line: `I (1234)` of ESP-IDF, `[00:00:12.345,678]` of Zephyr, `12.5`."""

_LONGEST_LINE: Final = 4096
NOT_REPORTED: Final = -1


@dataclass(frozen=True)
class FreeLog:
    """Reports of a board. Each array has one entry for each line of the log with a report.

    Parameters
    ----------
    share
        Position between the first report (0) and the last (1): by the times of the lines if each
        line has a time, otherwise by the number of the report.
    free, largest
        Free bytes, and the size of the largest free block in bytes; -1 if the line lacks the
        figure.
    """

    share: NDArray[np.float64]
    free: NDArray[np.int64]
    largest: NDArray[np.int64]


def read_free_log(path: str | PathLike[str]) -> FreeLog:
    """Read the lines that report free bytes or a largest free block; other lines are skipped.

    Raises `SimallocError` if the file cannot be read, or has no such line.
    """
    times: list[float | None] = []
    sizes: list[tuple[int, int]] = []
    try:
        with Path(path).open("rb") as file:
            while line := file.readline(_LONGEST_LINE):
                free, largest = _FREE.search(line), _LARGEST.search(line)
                if free is None and largest is None:
                    continue
                sizes.append((_size(free), _size(largest)))
                times.append(_seconds(line))
    except OSError as error:
        raise SimallocError(f"{fspath(path)} cannot be read: {error.strerror}") from error
    if not sizes:
        raise SimallocError(
            f"{fspath(path)} has no line with free bytes or a largest free block, such as "
            "`free heap: 24576, largest free block: 2312`"
        )
    free_bytes, largest_bytes = np.array(sizes, np.int64).T
    return FreeLog(_shares(times), free_bytes, largest_bytes)


def _size(found: re.Match[bytes] | None) -> int:
    """Return the reported number, or `NOT_REPORTED`."""
    return NOT_REPORTED if found is None else int(next(filter(None, found.groups())))


def _seconds(line: bytes) -> float | None:
    """Return the time at the start of a line, in any unit, because times are only compared."""
    found = _TIME.match(line)
    if found is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return 3600 * hours + 60 * minutes + seconds


def _shares(times: list[float | None]) -> NDArray[np.float64]:
    """Return the position of each report between the first and the last."""
    known = np.array([time for time in times if time is not None])
    is_clock = len(known) == len(times) and (np.diff(known) >= 0).all() and known[0] < known[-1]
    position: NDArray[np.float64] = known if is_clock else np.arange(len(times), dtype=np.float64)
    share: NDArray[np.float64] = (position - position[0]) / max(np.ptp(position), 1e-9)
    return share
