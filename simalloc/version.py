"""Which code computed a number: its provenance."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__version__: Final = version("simalloc")
"""The release; `code_version` also tells what can change results."""

_DECIDING: Final = ("bound", "core", "heap", "measure", "policy")
_NOT_DECIDING: Final = ("heap/reference/", "heap/real/")
_SUFFIXES: Final = {".py", ".c", ".h"}
_PACKAGE: Final = Path(__file__).parent

_CORE: Final = "heap/core/"
_SHARED_ROOMS: Final = ("binding", "replay", "space")
_LIST_OF_FAMILIES: Final = "families/all.h"
_BY_FAMILY: Final = ("bound/", _CORE, "policy/families/", "policy/catalogue/")
"""Where there are files that decide the results of some families only."""
_FOR_ALL: Final = ("policy/families/__init__.py", "policy/families/base.py",
                   "policy/catalogue/__init__.py")  # fmt: skip
_INCLUDE: Final = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


@cache
def code_version(core: str | None = None, modules: tuple[str, ...] = ()) -> str:
    """Return the release and a digest of the sources that decide a result: `0.1.0+3f2a91c4d5e6`.

    Two installations of the same version give the same results. The digest covers the packages
    `bound`, `heap` (but for the reference engine and what runs real allocators), `measure` and
    `policy`, and `core`, whose sums are part of the measures; C sources are installed with them
    for this purpose.

    With `core`, the core's name of a family, it covers only what the results of that family depend
    on: the shared part, the C files that the family's own includes, and of the descriptions and the
    catalogue the `modules` named. So another family's code may change without a trace.
    """
    digest = hashlib.sha256()
    for path in _sources(core, modules):
        name = path.relative_to(_PACKAGE).as_posix()
        digest.update(f"{name}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return f"{__version__}+{digest.hexdigest()[:12]}"


def _sources(core: str | None, modules: Iterable[str]) -> list[Path]:
    """Return the files that a digest covers, in the order of their names."""
    files = {
        path.relative_to(_PACKAGE).as_posix(): path
        for folder in _DECIDING
        for path in sorted((_PACKAGE / folder).rglob("*"))
        if path.suffix in _SUFFIXES
    }
    names = {name for name in files if not name.startswith(_NOT_DECIDING)}
    own = None if core is None else _CORE + f"families/{core.replace(' ', '_')}.c"
    if own in names:
        shared = {name for name in names if not name.startswith(_BY_FAMILY)} | {*_FOR_ALL}
        named = {f"{module.removeprefix('simalloc.').replace('.', '/')}.py" for module in modules}
        names &= shared | named | _included(files, own)
    return [files[name] for name in sorted(names)]


def _included(files: dict[str, Path], family: str) -> set[str]:
    """Return the core's files that a family's C file and the shared rooms consist of.

    An included header brings the C file of its name along, and the whole of its room if that is one
    of the indexes, whose headers are carried out in several files.
    """
    waiting = [name for name in files if name.startswith(tuple(_CORE + r for r in _SHARED_ROOMS))]
    waiting.append(family)
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in found or name not in files or name == _CORE + _LIST_OF_FAMILIES:
            continue
        found.add(name)
        waiting.append(f"{name.removesuffix('.h')}.c")
        room = name.rpartition("/")[0]
        if room.startswith(f"{_CORE}index/"):
            waiting += [other for other in files if other.startswith(f"{room}/")]
        text = files[name].read_text("utf-8")
        waiting += [_CORE + included for included in _INCLUDE.findall(text)]
    return found
