"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

MAX_TEXT: Final = 16 << 20

_MAX_LINKS: Final = 40
"""Links that the kernel follows in one path (path_resolution(7))."""
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a write that do not name the written file."""


def legible(name: str) -> str:
    """Return a file's name with each byte that is not UTF-8 replaced by a mark."""
    return os.fsencode(name).decode("utf-8", "replace")


@contextmanager
def replacing(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when the block ends without an error.

    The temporary file is located beside its target. If the block fails, the temporary file is
    removed and the target stays unchanged. A symbolic link stays, and its target is replaced; a
    link that another user made in a folder such as /tmp is refused. A pipe or a terminal is written
    directly. With `private`, only the owner may read or write the file.
    """
    try:
        with _written(path, 0o600 if private else 0o666) as stream:
            yield stream
    except OSError as error:
        if error.errno in _FULL and error.filename is None:
            error.filename = os.fspath(path)
        raise


@contextmanager
def _written(path: str | os.PathLike[str], mode: int) -> Iterator[BinaryIO]:
    given = Path(path)
    if given.exists() and not given.is_file():
        with given.open("wb") as stream:
            yield stream
        return
    with naming(path):
        target = _end_of_links(given)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with naming(path):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            stream = os.fdopen(os.open(temporary, flags, mode), "wb")
        with stream:
            yield stream
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _end_of_links(path: Path) -> Path:
    """Return the file that symbolic links lead to.

    Raises `PermissionError` if a link of another user is in a folder where everyone may create
    files, such as /tmp. The other user could otherwise choose a file that only this user may
    replace. The kernel has the same rule (`fs.protected_symlinks`, proc(5)), but it sees no
    replacement.
    """
    for _ in range(_MAX_LINKS):
        if not path.is_symlink():
            return path
        folder, owner = path.parent.stat(), path.lstat().st_uid
        is_shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
        if is_shared and owner not in {os.geteuid(), folder.st_uid}:
            reason = (
                "it is a symbolic link of another user in a folder that everyone may write to; "
                "remove it"
            )
            raise PermissionError(errno.EACCES, reason, os.fspath(path))
        path = path.parent / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))


def is_same(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether two paths lead to the same file, also through links.

    The result is False if a file is missing.
    """
    try:
        return Path(one).samefile(other)
    except FileNotFoundError:
        return False


def keep_apart(target: str | os.PathLike[str], sources: Iterable[str | os.PathLike[str]]) -> None:
    """Raise an `OSError` if writing `target` would replace a file that is read."""
    if any(is_same(target, source) for source in sources):
        reason = "it is also an input, which the output would replace; give the output another name"
        raise FileExistsError(errno.EEXIST, reason, os.fspath(target))


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file of at most `MAX_TEXT` bytes.

    Raises `OSError` if it is longer, because a device may be endless. Raises `UnicodeDecodeError`
    if it is not in UTF-8.
    """
    with Path(path).open("rb") as stream:
        text = stream.read(MAX_TEXT + 1)
    if len(text) > MAX_TEXT:
        reason = f"it has more than {MAX_TEXT >> 20} MiB, the maximum size of a text"
        raise OSError(errno.EFBIG, reason, os.fspath(path))
    return text.decode("utf-8")


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Replace the file name in an `OSError` by `path`, the name that the user knows."""
    try:
        yield
    except OSError as error:
        error.filename = os.fspath(path)
        raise


def copy_files(source: Path, names: Iterable[str], folder: Path) -> list[Path]:
    """Copy files into a folder, which is created if it does not exist.

    Return their new paths. Files of the same name are replaced. Raises `OSError` if the folder
    cannot be made or written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    copies = [folder / name for name in names]
    for copy in copies:
        with replacing(copy) as file:
            file.write((source / copy.name).read_bytes())
    return copies
