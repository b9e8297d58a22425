"""Settings of real allocators, passed in the environment of the replaying process."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from simalloc.errors import SimallocError
from simalloc.sizes import parse_size

Settings = tuple[tuple[str, str], ...]
"""Pairs of name and value, in the given order."""

_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_OWN_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")

_TUNABLES: Final = (
    *("arena_max", "arena_test", "check", "hugetlb", "mmap_max", "mmap_threshold", "mxfast"),
    *("perturb", "tcache_count", "tcache_max", "tcache_unsorted_limit", "top_pad"),
    "trim_threshold",
)
"""glibc's settings; glibc ignores unknown settings without a message."""


@dataclass(frozen=True)
class _Convention:
    """An allocator's convention for its own settings in the environment.

    `variables` returns the environment variables of settings. `yes` and `no` are the allocator's
    words for on and off.
    """

    variables: Callable[[Settings], dict[str, str]]
    yes: str
    no: str


def _tunables(settings: Settings) -> dict[str, str]:
    for name, _ in settings:
        if name not in _TUNABLES:
            raise SimallocError(f"glibc has no setting {name!r}; it has {', '.join(_TUNABLES)}")
    given = (f"glibc.malloc.{name}={parse_size(value)}" for name, value in settings)
    return {"GLIBC_TUNABLES": ":".join(given)}


def _malloc_conf(settings: Settings) -> dict[str, str]:
    given = (f"{name}:{_in_bytes(value)}" for name, value in settings)
    return {"MALLOC_CONF": ",".join(given)}


def _in_bytes(value: str) -> str:
    return str(parse_size(value)) if re.fullmatch(r"\d+[KMGT]", value) else value


def _prefixed(
    prefix: str, spelled: Callable[[str], str] = str
) -> Callable[[Settings], dict[str, str]]:
    return lambda settings: {f"{prefix}_{name.upper()}": spelled(each) for name, each in settings}


def _as_number(value: str) -> str:
    """Return a size in digits; tcmalloc reads only leading digits (1M as 1, a word as 0)."""
    try:
        float(value)
    except ValueError:
        return str(parse_size(value))
    return value


_CONVENTIONS: Final[Mapping[str, _Convention]] = MappingProxyType(
    {
        "glibc": _Convention(_tunables, "1", "0"),
        "jemalloc": _Convention(_malloc_conf, "true", "false"),
        "mimalloc": _Convention(_prefixed("MIMALLOC"), "1", "0"),
        "tcmalloc": _Convention(_prefixed("TCMALLOC", _as_number), "1", "0"),
    }
)


def environment_of(allocator: str, settings: Settings) -> dict[str, str]:
    """Return the environment variables of an allocator's settings.

    A name in capitals is an environment variable. A name in lower case is the allocator's own
    setting, such as glibc's `arena_max`; its values `on` and `off` become the allocator's words.

    Raises `SimallocError` for any other or unknown name.
    """
    variables = {name: value for name, value in settings if _VARIABLE.fullmatch(name)}
    own = tuple(each for each in settings if each[0] not in variables)
    for name, _ in own:
        if not _OWN_NAME.fullmatch(name) or allocator not in _CONVENTIONS:
            raise SimallocError(
                f"{allocator}: unknown setting {name!r}; environment variables are in capitals"
            )
    if not own:
        return variables
    convention = _CONVENTIONS[allocator]
    words = {"on": convention.yes, "off": convention.no}
    said = tuple((name, words.get(value, value)) for name, value in own)
    return {**convention.variables(said), **variables}
