"""Real allocators for replays, and the sources of their libraries."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes.util import find_library
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Final

from simalloc.errors import SimallocError
from simalloc.heap.real.settings import Settings, environment_of
from simalloc.policy.description import spell_parameters, split_at_commas, unquoted

PROGRAM: Final = str(files("simalloc.heap.real") / "simalloc-native")


@dataclass(frozen=True)
class Allocator:
    """A library whose malloc can replace the C library's, and its settings.

    `preload` is the library that the dynamic linker loads first: a path, or a name that the linker
    resolves. It is empty for the C library's own malloc. `program` replays traces; it differs from
    the installed program if it was linked with another C library.
    """

    name: str
    preload: str
    settings: Settings = ()
    program: str = PROGRAM

    def __str__(self) -> str:
        given = dict(self.settings)
        return spell_parameters(self.name, given, dict.fromkeys(given, ""))

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that make a process use the allocator with its settings.

        mimalloc also gets the option to report wrong values, which it does not do by default.
        """
        says = {"MIMALLOC_SHOW_ERRORS": "1"} if self.name == "mimalloc" else {}
        return {"LD_PRELOAD": self.preload, **says, **environment_of(self.name, self.settings)}

    def set_to(self, settings: Settings) -> Allocator:
        """Return the same allocator with other settings.

        Raises `SimallocError` for a setting that the allocator does not have.
        """
        environment_of(self.name, settings)
        return replace(self, settings=settings)


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
"""Names of allocators. Any other allocator is given by the path of its library."""

MODELS: Final[Mapping[str, str]] = MappingProxyType(
    {"ptmalloc": GLIBC.name, **{name: name for name in _KNOWN}}
)
"""Policies that model allocators in `NAMES`, and the names of these allocators."""


def find_allocators(text: str) -> list[Allocator]:
    """Return the allocators of a list such as `glibc:arena_max=2,top_pad=0,jemalloc`.

    A comma is followed by another allocator, by another setting of the same allocator, or by more
    of the same value, as in jemalloc's `MALLOC_CONF=narenas:1,tcache:false`. A value may be in
    single quotes. Names in lower case are the allocator's own settings; names in capitals are
    environment variables.

    Raises `SimallocError` as `find_allocator` does, and for a setting that an allocator does not
    have.
    """
    given: list[tuple[str, list[str]]] = []
    for part in split_at_commas(text):
        name, colon, setting = part.partition(":")
        open_list = given[-1][1] if given and not _is_allocator(name) else []
        if open_list and ("=" in part or colon):
            _add_setting(open_list, part)
        else:
            given.append((name.strip(), [setting] if colon else []))
    return [_with_settings(text, name, settings) for name, settings in given]


def _is_allocator(name: str) -> bool:
    return name.strip() in NAMES or ("=" not in name and _is_path(name))


def _is_path(text: str) -> bool:
    return "/" in text or ".so" in text


def _add_setting(settings: list[str], part: str) -> None:
    """Add a setting of the form NAME=VALUE, or a continuation of the previous value."""
    if "=" in part:
        settings.append(part)
    else:
        settings[-1] += f",{part}"


def _with_settings(text: str, name: str, settings: list[str]) -> Allocator:
    given: dict[str, str] = {}
    for setting in settings:
        key, _, value = (part.strip() for part in setting.partition("="))
        if not key or not value:
            raise SimallocError(f"{text!r}: {setting!r} is not of the form NAME=VALUE")
        if key in given:
            raise SimallocError(f"{text!r}: {key} is given twice")
        given[key] = unquoted(value)
    return find_allocator(name).set_to(tuple(given.items()))


def find_allocator(text: str) -> Allocator:
    """Return the allocator that `text` names: one of `NAMES`, or a path of a shared library.

    Raises `SimallocError` if the name or the file does not exist, or if the library is not
    installed.
    """
    if text == GLIBC.name:
        return GLIBC
    if text in _KNOWN:
        known = _KNOWN[text]
        found = find_library(known.library)
        if found is None:
            raise SimallocError(
                f"{text} is not installed: lib{known.library}.so is not among the system's "
                f"libraries. Install it (on Debian the package {known.package}), or give the "
                "path of the library instead of the name"
            )
        return Allocator(text, found)
    if not _is_path(text):
        raise SimallocError(
            f"unknown allocator {text!r}; write {', '.join(NAMES)} or a path such as ./my.so"
        )
    path = Path(text).resolve()
    if not path.is_file():
        raise SimallocError(f"{text}: file not found; give the path of a shared library")
    if any(separator in str(path) for separator in ": "):
        raise SimallocError(
            f"{text}: the dynamic linker cannot preload a path with a colon or a space"
        )
    return Allocator(text, str(path))


def installed() -> list[Allocator]:
    """Return the allocators of `NAMES` that are installed on this system."""
    found = {name: find_library(known.library) for name, known in _KNOWN.items()}
    return [GLIBC, *(Allocator(name, library) for name, library in found.items() if library)]
