"""Conversion of untrusted text for terminals: traces and results contain any character.

A terminal executes control characters, which move the cursor, change the title or send input to the
shell. Direction marks of Unicode change the order in which text is displayed.
"""

from __future__ import annotations

import re
from typing import Final

_OBEYED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""All control characters except tab and newline, and the Unicode direction marks."""


def printable(text: str) -> str:
    """Return a text with each control character and direction mark as a Python escape."""
    return _OBEYED.sub(lambda found: ascii(found[0])[1:-1], text)


def json_printable(text: str) -> str:
    """Return JSON with each control character and direction mark as a JSON escape."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
