"""Profiles for `go tool pprof` and for all other readers of its profile.proto."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from simalloc.report.profiles.whole import whole_numbers

if TYPE_CHECKING:
    from simalloc.measure.sites import Frame, Profile

_VARINT: Final = 0
_LENGTH: Final = 2
"""Wire types of integers and of fields with a length."""


def pprof(profile: Profile, name: str, measure: str) -> bytes:
    """Return a compressed profile with all measures; it opens with `measure`."""
    strings: dict[str, int] = {"": 0}

    def string(value: str) -> int:
        return strings.setdefault(value, len(strings))

    functions: dict[tuple[str, str], int] = {}
    locations: dict[Frame, int] = {}
    for path in profile.paths:
        for frame in path:
            functions.setdefault(frame[:2], len(functions) + 1)
            locations.setdefault(frame, len(locations) + 1)
    measures = profile.measures
    weights = zip(*(whole_numbers(profile.values[each]) for each in measures), strict=True)
    parts = [
        *(
            text(1, number(1, string(each)) + number(2, string(_unit(each))))  # sample_type
            for each in measures
        ),
        *(
            text(2, packed(1, (locations[frame] for frame in path)) + packed(2, values))  # sample
            for path, values in zip(profile.paths, weights, strict=True)
        ),
        *(
            text(4, number(1, at) + text(4, _line(functions[frame[:2]], frame.line)))  # location
            for frame, at in locations.items()
        ),
        *(
            text(5, number(1, at) + number(2, string(named)) + number(4, string(file)))  # function
            for (named, file), at in functions.items()
        ),
        packed(13, [string(f"simalloc: {name}")]),  # comment
        number(14, string(measure)),  # default_sample_type
    ]
    table = (text(6, each.encode("utf-8", "replace")) for each in strings)
    return gzip.compress(b"".join([*parts, *table]), mtime=0)


def _line(function: int, line: int) -> bytes:
    return number(1, function) + number(2, line)


def _unit(measure: str) -> str:
    return "bytes" if measure.endswith("_bytes") else "count"


def number(field: int, value: int) -> bytes:
    """Return a field with an integer. 0, the default of a missing field, is not written."""
    return _varint(field << 3 | _VARINT) + _varint(value) if value else b""


def text(field: int, value: bytes) -> bytes:
    """Return a field with bytes: text in UTF-8, or a message."""
    return _varint(field << 3 | _LENGTH) + _varint(len(value)) + value


def packed(field: int, values: Iterable[int]) -> bytes:
    """Return a repeated field of integers."""
    return text(field, b"".join(map(_varint, values)))


def _varint(value: int) -> bytes:
    """Return an integer in groups of seven bits, the lowest first; a negative one has 64 bits."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
