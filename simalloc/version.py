"""The version of the code that computed a result: its provenance."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

__version__: Final = version("simalloc")
"""The release. `code_version` also identifies the code that determines results."""

_DECIDING: Final = ("bound", "c", "heap", "measure", "policy")
_NOT_DECIDING: Final = ("heap/reference/", "heap/real/")
_SUFFIXES: Final = (".py", ".c", ".h")
_PACKAGE: Final = Path(__file__).parent

_FAMILIES: Final = "heap/core/families/"
_BY_MODULE: Final = ("policy/families/", "policy/catalogue/")
"""Folders in which each module affects some families only, except the files in `_FOR_ALL`."""
_FOR_ALL: Final = ("policy/families/__init__.py", "policy/families/base.py",
                   "policy/catalogue/__init__.py")  # fmt: skip


@cache
def code_version(core: str | None = None, modules: tuple[str, ...] = ()) -> str:
    """Return the release and a digest of the sources that determine a result: `0.1.0+3f2a91c4d5e6`.

    Two installations with the same version produce the same results. The digest covers the packages
    `bound`, `heap` (without the reference engine and the real allocators), `measure`, `policy` and
    `c`, whose sums are part of the measures. C sources are installed with them. `core` is the
    core's name of a family. With `core`, the digest covers only the shared part, the family's own
    files, and the named `modules` of the descriptions and the catalogue. It then does not depend on
    the code of other families. The family's own files are in a folder of its name, or have names
    that begin with it.
    """
    digest = hashlib.sha256()
    for name in _sources(core, modules):
        content = (_PACKAGE / name).read_bytes()
        digest.update(f"{name}\n".encode() + hashlib.sha256(content).digest())
    return f"{__version__}+{digest.hexdigest()[:12]}"


def _sources(core: str | None, modules: tuple[str, ...]) -> list[str]:
    """Return the files that a digest covers, in the order of their names."""
    names = [
        f"{where.removeprefix(f'{_PACKAGE}/')}/{name}"
        for folder in _DECIDING
        for where, _, found in os.walk(_PACKAGE / folder)
        for name in found
        if name.endswith(_SUFFIXES)
    ]
    families = _families()
    own = None if core is None else core.replace(" ", "_")
    named = {f"{module.removeprefix('simalloc.').replace('.', '/')}.py" for module in modules}

    def decides(name: str) -> bool:
        if name.startswith(_NOT_DECIDING):
            return False
        if own not in families:
            return True
        if name.startswith(_BY_MODULE):
            return name in _FOR_ALL or name in named
        if name.startswith(_FAMILIES):
            return _owner(name, families) in {own, ""} and not name.endswith("/all.h")
        return True

    return sorted(filter(decides, names))


def _families() -> set[str]:
    """Return the core's families: each line of the list has the form ONCE(list_fit)."""
    listed = (_PACKAGE / _FAMILIES / "all.h").read_text("utf-8").split()
    return {line.partition("(")[2].rstrip(")") for line in listed}


def _owner(name: str, families: set[str]) -> str:
    """Return the family whose name begins the name of a C file or of its folder, or ""."""
    stem = Path(name.removeprefix(_FAMILIES)).parts[0].partition(".")[0]
    return max((one for one in families if f"{stem}_".startswith(f"{one}_")), key=len, default="")
