"""Replacement of characters that stdout's encoding lacks."""

from __future__ import annotations

import codecs
import sys
from io import TextIOWrapper
from typing import Final

_PLAIN: Final = dict(zip("▁▂▃▄▅▆▇█", ".:-=+*#@", strict=True))
_ERRORS: Final = "simalloc.plain"


def spell_plainly() -> None:
    """Make stdout write missing characters in ASCII: bars as symbols, others as JSON escapes."""
    codecs.register_error(_ERRORS, _plain)
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors=_ERRORS)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    import json  # noqa: PLC0415 - rarely needed, adds 2 ms to the start

    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(one) or json.dumps(one)[1:-1] for one in lacking), error.end
