"""The installed release of a malloc, and the file name of its library."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from simalloc.errors import SimallocError
from simalloc.heap.real import GLIBC, find_allocator

_LIBRARIES: Final[Mapping[str, Mapping[str, str]]] = {
    "jemalloc": {"": "libjemalloc.so.2"},
    "tcmalloc": {"": "libtcmalloc_minimal.so.4"},
    "mimalloc": {"2": "libmimalloc.so.2", "": "libmimalloc.so.3"},
}
"""Names of libraries, by the beginning of a release; "" matches all others."""

_SAID: Final = {
    "jemalloc": re.compile(rb"\b(5\.\d+\.\d+)-\d+-g[0-9a-f]"),
    "tcmalloc": re.compile(rb"\bgperftools (\d+\.\d+)"),
}
"""Patterns of the release that a library's file contains."""

_FOLDERS: Final = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib")


def library_of(allocator: str, release: str) -> str:
    """Return the file name of the library for a malloc's release; "" is the newest release."""
    names = _LIBRARIES[allocator]
    return next(name for start, name in names.items() if release.startswith(start) or not start)


@cache
def installed_release(allocator: str) -> str:
    """Return the installed release of a malloc according to its library, or ""."""
    if allocator == GLIBC.name:
        return _glibc()
    if allocator not in _LIBRARIES:
        return ""
    try:
        library = find_allocator(allocator).preload
    except SimallocError:
        return ""
    if allocator not in _SAID:
        return library.rpartition(".so.")[2]
    path = _path_of(library)
    said = _SAID[allocator].search(path.read_bytes()) if path else None
    return said[1].decode() if said else ""


def _glibc() -> str:
    """Return the release of glibc that Python runs with, or "" under another C library."""
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").removeprefix("glibc ")
    except (ValueError, OSError):
        return ""


def _path_of(library: str) -> Path | None:
    """Return the path of a library in the folders of the system, or None."""
    folders = [Path(folder) for folder in _FOLDERS]
    places = [*folders, *(inner for folder in folders for inner in folder.glob("*-linux-gnu"))]
    return next((place / library for place in places if (place / library).is_file()), None)
