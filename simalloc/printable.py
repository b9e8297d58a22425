"""Text from unknown sources made safe for a terminal: traces and results contain any character.

A terminal obeys control characters, which move the cursor, change the title or send input to the
shell. Direction marks of Unicode change the order in which text is displayed.
"""

from __future__ import annotations

import re
from typing import Final

_OBEYED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""All control characters except tab and newline, and the marks that change the direction."""


def printable(text: str) -> str:
    """Return a text with each character that a terminal obeys spelled as Python spells it."""
    return _OBEYED.sub(lambda found: ascii(found[0])[1:-1], text)


def json_printable(text: str) -> str:
    """Return JSON with each such character of its strings as an escape of JSON."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
