"""Claims on runs, so that several sweeps into one file share the work.

A claim is a lock on one byte of an empty file beside the results. The system releases the lock when
its process ends in any way, so a killed sweep needs no cleanup. Claims only save work: the results
are correct without them.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from simalloc.sweep.task import Key

SUFFIX: Final = ".claims"


class Claims:
    """Claims of one sweep on runs of a file of results. Use it in a `with` statement."""

    def __init__(self, results: str | os.PathLike[str]) -> None:
        self._path = Path(f"{results}{SUFFIX}")
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
        self._path.unlink(missing_ok=True)

    def take(self, key: Key) -> bool:
        """Claim a run. Return False if another sweep has claimed it."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # a file system without locks, where two sweeps may do the same run
            return True
        return True

    def release(self, key: Key) -> None:
        """Release the claim on a run, whether it is done or not."""
        with suppress(OSError):
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(key))


def _place(key: Key) -> int:
    digest = blake2b("\n".join(map(str, key)).encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big")
