"""Detection of Python programs and of their release of Python."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import PurePath
from typing import Final

import numpy as np

from simalloc.trace import EventSource

_PYTHON: Final = re.compile(r"python\d*(?P<release>(?<=3)\.\d+)?")
"""File name of the executable of a Python program."""

_NEWEST: Final = "3.13"
"""Release that is assumed if a file name contains none."""

_SMALL: Final = 512
"""Maximum size in bytes of requests that Python's own allocator serves."""

_MOST_ARE_SMALL: Final = 0.75


def python_of(source: EventSource) -> str:
    """Return the release of the Python whose small objects are in a trace, or "".

    A recording with Python's own allocator contains almost only requests for large blocks.
    """
    program = _PYTHON.fullmatch(PurePath(str(source.provenance.get("executable", ""))).name)
    if program is None:
        return ""
    with closing(source.chunks()) as chunks:
        sizes = next((chunk.size[chunk.size > 0] for chunk in chunks), np.empty(0, np.int64))
    if not len(sizes) or (sizes <= _SMALL).mean() <= _MOST_ARE_SMALL:
        return ""
    return f"3{program['release']}" if program["release"] else _NEWEST
