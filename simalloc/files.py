"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that takes the place of `path` when the block ends without an error.

    It lies beside its target; if the block fails it is removed, and what was at `path` stays. Of a
    link the target is replaced. What is no regular file (a pipe, a terminal) is written as it is.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:
            yield stream
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with temporary.open("xb") as stream:
            yield stream
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
