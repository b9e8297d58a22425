"""Detection of allocators that are linked into a program and cannot be preceded by a library."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Final

from simalloc.trace.symbols.elf import symbol_tables

GO: Final = "Go's allocator"
ANY_MALLOC: Final = "a malloc of its own"
FREE_THREADED: Final = "the mimalloc of free-threaded Python"

_FUNCTIONS: Final = {
    GO: ("runtime.mallocgc",),
    "jemalloc": ("je_malloc", "_rjem_malloc", "_rjem_je_malloc", "mallocx", "je_mallocx"),
    "mimalloc": ("mi_malloc", "mi_heap_malloc"),
    "tcmalloc": ("tc_malloc", "TCMallocInternalMalloc"),
    "snmalloc": ("sn_malloc", "sn_rust_alloc"),
    "rpmalloc": ("rpmalloc",),
    ANY_MALLOC: ("malloc",),
}
"""Functions that identify a built-in allocator. Any other malloc is tried last."""

_TEXTS: Final = {
    "jemalloc": b"<jemalloc>: ",
    "mimalloc": b"mimalloc: ",
    "tcmalloc": b"tcmalloc: large alloc ",
}
"""Beginnings of an allocator's messages. In a program without symbols, only these messages identify
the allocator.
"""
_LONGEST_TEXT: Final = max(map(len, _TEXTS.values()))
_PIECE: Final = 4 << 20
"""Bytes per read."""

_OF_PYTHON: Final = "PyMem_RawMalloc"
"""CPython contains mimalloc, but only a free-threaded CPython allocates with it."""

_OF_FREE_THREADED: Final = b"_Py_DecRefShared"
_FREE_THREADED_LIBRARY: Final = re.compile(rb"libpython3\.\d+td?\.so")

_SANITIZERS: Final = {
    "AddressSanitizer": (b"__asan_init", b"libasan.so", b"libclang_rt.asan"),
    "HWAddressSanitizer": (b"__hwasan_init", b"libhwasan.so", b"libclang_rt.hwasan"),
    "LeakSanitizer": (b"liblsan.so", b"__lsan_init"),
    "MemorySanitizer": (b"__msan_init",),
    "ThreadSanitizer": (b"__tsan_init", b"libtsan.so", b"libclang_rt.tsan"),
}
"""Names that identify the sanitizer with which a program was built."""


def sanitizer(path: str | os.PathLike[str]) -> str | None:
    """Return the sanitizer with which a program was built, or None.

    A sanitizer's own malloc must come first in the loader's order.
    """
    for table in symbol_tables(path):
        for name, marks in _SANITIZERS.items():
            if any(map(table.mentions, marks)):
                return name
    return None


def built_in(path: str | os.PathLike[str]) -> str | None:
    """Return the name of the allocator that is built into a program, or None.

    The recorder does not see the blocks of such an allocator. The name is `ANY_MALLOC` if only the
    function `malloc` was found.
    """
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return _found(os.fspath(path), status.st_mtime_ns, status.st_size)


@lru_cache
def _found(path: str, _: int, __: int) -> str | None:
    """Return the allocator of a program. The cache holds one result for each version of a file."""
    for table in symbol_tables(path):
        if table.mentions(_OF_FREE_THREADED) or _FREE_THREADED_LIBRARY.search(table.names):
            return FREE_THREADED
        if table.defines(_OF_PYTHON):
            return None
        for name, functions in _FUNCTIONS.items():
            if any(map(table.defines, functions)):
                return name
    return _by_text(Path(path))


def _by_text(path: Path) -> str | None:
    """Return the allocator with a message in a file.

    The file is read in pieces and may change meanwhile.
    """
    found: set[str] = set()
    try:
        if not path.is_file():
            return None
        with path.open("rb", buffering=0) as file:
            end = b""
            while piece := file.read(_PIECE):
                content = end + piece
                found.update(name for name, text in _TEXTS.items() if text in content)
                end = content[-_LONGEST_TEXT:]
    except (OSError, ValueError):
        return None
    return next((name for name in _TEXTS if name in found), None)
