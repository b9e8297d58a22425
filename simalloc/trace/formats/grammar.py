"""Grammars of line-based logs: patterns with named numbers, scanned and printed in C.

A pattern is the text of a line, with braces for each variable part:

    {size}    a decimal number        {key:x}   a hexadecimal number without 0x
    {key:p}   a pointer: 0x and hex, hex, # and decimal, or (nil)
    {}        a word                  {>]}      everything through the next ]
    {size:u}  a decimal number up to 2^64 - 1, limited to 2^63 - 1
    { }       blanks or nothing       {...}     the rest of the line
    {#}       blanks and a comment that begins with #, or either, or nothing
    {key=7}   nothing: key is 7       {key>]}   as {>]}, and key is a hash of the text
    {!}       from here on, a line matches this pattern or none

A space stands for one or more blanks. The first matching pattern of a grammar is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import Op

NO_EVENT: Final = 255
"""The op of a line without an event."""

UNLIKE: Final = 254
"""The op of a line that matches no pattern. This op occurs only if such lines are allowed."""

_KINDS: Final = 256

# The steps defined in c/scan.h.
_STEPS: Final = range(15)
_END, _BYTE, _BLANKS, _PADDING, _DECIMAL, _HEX, _POINTER, *_OTHERS = _STEPS
_WORD, _THROUGH, _REST, _DEFAULT, _COMMIT, _TEXT, _AMOUNT, _COMMENT = _OTHERS
_NUMBERS: Final = {"": _DECIMAL, ":x": _HEX, ":p": _POINTER, ":u": _AMOUNT}
_PLAIN: Final = {"": _WORD, " ": _PADDING, "...": _REST, "!": _COMMIT, "#": _COMMENT}
_DEFAULTS: Final = {"count": 1}  # values of fields that a pattern lacks; others are 0
_NUMBER: Final = re.compile(r"([a-z_]+)(:[xpu]|=\d+|>.)?")
_SHOWN: Final = 4
_SHAPES: Final = {"": "WORD", " ": "", "!": "", "#": ""}
_PARTS: Final = re.compile(r"\{([^}]*)\}|(.)", re.DOTALL)


@dataclass(frozen=True)
class Grammar:
    """Patterns and the meanings of their lines: an op, or None for a line without an event.

    `steps` is the program of the C scanner. `fields` names the scanner's rows of numbers in order.
    `ops` contains the op of each kind of line, where the kind is the number of the pattern
    (c/scan.h).
    """

    patterns: Mapping[str, Op | None]
    fields: tuple[str, ...] = field(init=False)
    steps: bytes = field(init=False)
    ops: NDArray[np.uint8] = field(init=False)

    def __post_init__(self) -> None:
        names = {
            number[1]: None
            for pattern in self.patterns
            for part in _PARTS.finditer(pattern)
            if part[1] and (number := _NUMBER.fullmatch(part[1]))
        }
        fields = tuple(names)
        ops = np.full(_KINDS, UNLIKE, np.uint8)
        for kind, op in enumerate(self.patterns.values()):
            ops[kind] = NO_EVENT if op is None else op
        object.__setattr__(self, "fields", fields)
        object.__setattr__(self, "steps", b"".join(_compiled(p, fields) for p in self.patterns))
        object.__setattr__(self, "ops", ops)

    @property
    def shapes(self) -> str:
        """Shapes of event lines, for messages. Only the first is shown if there are many."""
        events = [pattern for pattern, op in self.patterns.items() if op is not None]
        shapes = [f"`{_PARTS.sub(_shape, pattern)}`" for pattern in events[:_SHOWN]]
        return ", ".join(shapes) + (", and more" if len(events) > _SHOWN else "")


def _compiled(pattern: str, fields: tuple[str, ...]) -> bytes:
    """Return the pattern's steps, preceded by their number of bytes."""
    steps = bytearray()
    given = set()
    for part in _PARTS.finditer(pattern):
        brace, char = part.groups()
        number = _NUMBER.fullmatch(brace or "")
        if char is not None:
            steps += bytes([_BLANKS]) if char == " " else bytes([_BYTE, ord(char)])
        elif number:
            steps += _number_step(number[2] or "", fields.index(number[1]))
            given.add(number[1])
        elif brace.startswith(">"):
            steps += bytes([_THROUGH, ord(brace[1])])
        else:
            steps.append(_PLAIN[brace])
    for place, name in enumerate(fields):
        if name not in given:
            steps += bytes([_DEFAULT, place, _DEFAULTS.get(name, 0)])
    steps.append(_END)
    return bytes([len(steps)]) + steps


def _number_step(kind: str, place: int) -> bytes:
    if kind.startswith("="):
        return bytes([_DEFAULT, place, int(kind[1:])])
    if kind.startswith(">"):
        return bytes([_TEXT, place, ord(kind[1])])
    return bytes([_NUMBERS[kind], place])


def _shape(part: re.Match[str]) -> str:
    brace, char = part.groups()
    if char is not None:
        return char
    number = _NUMBER.fullmatch(brace)
    if number and (number[2] or ":").startswith(":"):
        return number[1].upper()
    return "" if number and number[2].startswith("=") else _SHAPES.get(brace, "...")
