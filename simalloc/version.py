"""Which code computed a number: its provenance."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

_DECIDING: Final = ("heap", "measure", "policy")
_NOT_DECIDING: Final = ("heap/reference/", "heap/real/")
_SUFFIXES: Final = {".py", ".c", ".h"}
_PACKAGE: Final = Path(__file__).parent


@cache
def code_version() -> str:
    """Return the release and a digest of the sources that decide a result: `0.1.0+3f2a91c4d5e6`.

    Two installations of the same version give the same results. The digest covers the packages
    `heap` (but for the reference engine and what runs real allocators), `measure` and `policy`;
    their C sources are installed with them for this purpose.
    """
    digest = hashlib.sha256()
    for folder in _DECIDING:
        for path in sorted((_PACKAGE / folder).rglob("*")):
            name = path.relative_to(_PACKAGE).as_posix()
            if path.suffix in _SUFFIXES and not name.startswith(_NOT_DECIDING):
                digest.update(f"{name}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return f"{version('simalloc')}+{digest.hexdigest()[:12]}"
