"""The request to the recorder's library: `struct late_request` in preload/attach.h."""

from __future__ import annotations

import os
import struct
from typing import Final

from simalloc.process.target import ProcessError
from simalloc.trace.recorder import Wanted

_REQUEST: Final = struct.Struct("<4096sQIII4x")
_COLUMN_TIME: Final = 1
_COLUMN_SITE: Final = 2
_LONGEST_PATH: Final = 4095


def request(path: str, process: int, wanted: Wanted) -> bytes:
    """Return a request to record into a file that the process will create."""
    encoded = os.fsencode(path)
    if len(encoded) > _LONGEST_PATH:
        raise ProcessError(f"the path of the recording is longer than {_LONGEST_PATH:,} bytes")
    columns = (_COLUMN_TIME if wanted.times else 0) | (_COLUMN_SITE if wanted.depth else 0)
    return _REQUEST.pack(encoded, wanted.every, columns, wanted.depth, process)
