"""Measures of call paths as files for profile viewers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from simalloc.errors import SimallocError
from simalloc.report.profiles.collapsed import collapsed
from simalloc.report.profiles.pprof import pprof
from simalloc.report.profiles.speedscope import speedscope

if TYPE_CHECKING:
    from simalloc.measure.sites import Profile

WRITERS: Final[Mapping[str, Callable[[Profile, str, str], bytes]]] = {
    ".pb.gz": pprof,
    ".json": speedscope,
    ".txt": collapsed,
}
"""Functions that format a profile, given a trace name and a measure, by suffix of the file."""


def writer_for(path: str | os.PathLike[str]) -> Callable[[Profile, str, str], bytes]:
    """Return the function that formats a profile for the file at `path`.

    Raises `SimallocError` for an unknown suffix.
    """
    name = Path(path).name
    for end, writer in WRITERS.items():
        if name.endswith(end):
            return writer
    raise SimallocError(
        f"{name} has no known suffix; end it in .pb.gz (pprof), .json (speedscope) or "
        ".txt (collapsed stacks)"
    )
