"""Line numbers of keys in a TOML file, which the parser does not report."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from itertools import takewhile
from typing import Any


def line_of(text: str, key: tuple[str, ...], value: object = None) -> int:
    """Return the line, counted from 1, that sets `key` or else the nearest key around it.

    If `value` is one of several values of the key, return the line of this value. The text must be
    valid TOML. The line is for messages only, because text in a string of several lines can look
    like a key and mislead the search.
    """
    lines = text.splitlines()
    places = list(_places(lines))
    if not key or not places:
        return 1
    depths = [_common(path, key) for _, path in places]
    nearest = depths.index(max(depths))
    start, end = places[nearest][0], len(lines)
    if nearest + 1 < len(places):
        end = places[nearest + 1][0] - 1
    holding = (
        number
        for number in range(start, end + 1)
        if value is not None and str(value) in lines[number - 1].partition("#")[0]
    )
    return next(holding, start)


def _places(lines: list[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the number of each line that begins a table or sets a key, with its whole path."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(lines, 1):
        is_table = line.lstrip().startswith("[")
        try:
            parsed = tomllib.loads(line if is_table else f"{line.partition('=')[0]}= 0")
        except tomllib.TOMLDecodeError:
            continue
        path = _path(parsed)
        if is_table:
            table = path
            yield number, table
        elif path:
            yield number, table + path


def _path(parsed: dict[str, Any]) -> tuple[str, ...]:
    """Return the path of the only key in a document."""
    path: list[str] = []
    inner: Any = parsed
    while isinstance(inner, dict) and inner:
        (name, inner), *_ = inner.items()
        path.append(name)
    return tuple(path)


def _common(path: tuple[str, ...], key: tuple[str, ...]) -> int:
    """Return the number of equal names at the beginning of `path` and `key`."""
    same = (ours == wanted for ours, wanted in zip(path, key, strict=False))
    return sum(takewhile(bool, same))
