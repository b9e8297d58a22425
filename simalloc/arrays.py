"""Arrays from untrusted .npz files, with limits on sizes and types."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from os import PathLike
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from simalloc.memory import require_memory

_COPIES: Final = 2
"""Number of copies in memory while an array is read: the member's content and the array."""
ZIP_DAMAGE: Final = (
    zipfile.BadZipFile,
    EOFError,
    KeyError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
)
"""Errors that `zipfile` raises for a damaged archive."""
_DAMAGE: Final = (*ZIP_DAMAGE, zlib.error, tokenize.TokenError, SyntaxError, MemoryError, TypeError)


def load_arrays(
    path: str | PathLike[str],
    kinds: Mapping[str, tuple[DTypeLike, int]],
    *,
    limit: int | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the arrays that `kinds` names in an .npz file, each with its type and dimensions.

    Raises `ValueError` if an array is missing, damaged or of another kind, or if the arrays have
    more than `limit` bytes. Raises `OSError` if the file cannot be read, and `SimallocError` if the
    arrays need more memory than is permitted.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.getinfo(f"{name}.npy") for name in kinds}
            size = sum(member.file_size for member in members.values())
            if limit is not None and size > limit:
                raise ValueError(
                    f"{', '.join(kinds)}: {size:,} bytes exceed the limit of {limit:,} bytes"
                )
            require_memory(_COPIES * size, f"{path}: reading {', '.join(kinds)}")
            found = {name: _read(archive, member) for name, member in members.items()}
    except _DAMAGE as error:
        raise ValueError(str(error) or type(error).__name__) from error
    for name, (kind, dimensions) in kinds.items():
        if found[name].dtype != kind or found[name].ndim != dimensions:
            raise ValueError(
                f"{name} is not an array of {np.dtype(kind)} with {dimensions} dimensions"
            )
    return found


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(member) as stream:
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array
