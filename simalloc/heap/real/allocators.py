"""The real allocators that a trace can be replayed through, and where they come from."""

from __future__ import annotations

from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from simalloc.errors import SimallocError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Allocator:
    """A library whose malloc can take the place of the C library's.

    `preload` is what the dynamic linker is asked to load first: the library's path, or its name
    where the linker looks for it; empty for the C library's own malloc.
    """

    name: str
    preload: str


@dataclass(frozen=True)
class _Known:
    library: str
    package: str


_KNOWN: Final[Mapping[str, _Known]] = MappingProxyType(
    {
        "jemalloc": _Known("jemalloc", "libjemalloc2"),
        "mimalloc": _Known("mimalloc", "libmimalloc2.0"),
        "tcmalloc": _Known("tcmalloc_minimal", "libtcmalloc-minimal4"),
    }
)

GLIBC: Final = Allocator("glibc", "")

NAMES: Final = (GLIBC.name, *_KNOWN)
"""The allocators that can be named; any other is given by the path of its library."""

MODELS: Final[Mapping[str, str]] = MappingProxyType({"ptmalloc": GLIBC.name})
"""Policies that are models of allocators that can be named, and of which."""


def find_allocator(text: str) -> Allocator:
    """Return the allocator that `text` names: one of `NAMES`, or a path of a shared library.

    Raises `SimallocError` if there is no such name or file, or if the library is not installed.
    """
    if text == GLIBC.name:
        return GLIBC
    if text in _KNOWN:
        known = _KNOWN[text]
        found = find_library(known.library)
        if found is None:
            raise SimallocError(
                f"{text} is not installed: lib{known.library}.so is not among the system's "
                f"libraries; Debian has it in the package {known.package}, "
                "or give the path of the library instead of the name"
            )
        return Allocator(text, found)
    if "/" not in text and ".so" not in text:
        raise SimallocError(
            f"there is no allocator {text!r}; it is {', '.join(NAMES)} or a path such as ./my.so"
        )
    path = Path(text).resolve()
    if not path.is_file():
        raise SimallocError(f"{text}: there is no such file; an allocator is a shared library")
    if any(separator in str(path) for separator in ": "):
        raise SimallocError(
            f"{text}: the dynamic linker cannot preload a path with a colon or a space"
        )
    return Allocator(text, str(path))


def installed() -> list[Allocator]:
    """Return the allocators of `NAMES` that this system has."""
    return [
        GLIBC,
        *(find_allocator(name) for name, known in _KNOWN.items() if find_library(known.library)),
    ]
