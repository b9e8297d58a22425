"""The folder of a running process's recording, which both the process and simalloc can use."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simalloc.files import naming
from simalloc.process.live import LiveProcess
from simalloc.process.target import ProcessError

_FOLDERS: Final = ("tmp", "var/tmp", "dev/shm")
"""Folders of the process in which it may create files, in order of preference."""


@dataclass(frozen=True)
class Place:
    """A folder of mode 0700 that belongs to the process's user."""

    path: Path
    """Path for simalloc, which remains valid after the process has ended."""
    shown: str
    """Path in messages."""
    within: str
    """Path in the process's view."""
    owner: tuple[int, int]
    """The user and group of the process."""
    holder: int = -1
    """Descriptor of the folder that `path` uses, or -1."""

    def write(self, name: str, content: bytes) -> str:
        """Create a file that the process can read, and return its path in the process's view."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.path / name, flags, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if self.owner != (os.geteuid(), os.getegid()):
                os.fchown(descriptor, *self.owner)
        return f"{self.within}/{name}"

    def remove(self) -> None:
        """Remove the folder and its contents."""
        for path in list(self.path.iterdir()):
            path.unlink()
        if self.holder < 0:
            self.path.rmdir()
            return
        with suppress(OSError):  # the folders of a container disappear when it ends
            Path(self.shown).rmdir()
        os.close(self.holder)


def make_place(process: LiveProcess, output: Path) -> Place:
    """Create the folder: beside the trace if the process can use it, otherwise in its `/tmp`."""
    user, group = _owner(process.process)
    root = Path(f"/proc/{process.process}/root")
    shares_files = _shares_files(process.process)
    name = f"{output.stem}.{secrets.token_hex(4)}.recording"
    if shares_files and user == os.geteuid():
        parent = output.resolve().parent
        with naming(output):
            made = tempfile.mkdtemp(prefix=f"{output.stem}.", suffix=".recording", dir=parent)
        return Place(Path(made), made, made, (user, group))
    for folder in _FOLDERS:
        descriptor = _made_in(root, folder, name, user, group)
        if descriptor is None:
            continue
        within = f"/{folder}/{name}"
        if shares_files:
            os.close(descriptor)
            return Place(Path(within), within, within, (user, group))
        held = Path(f"/proc/self/fd/{descriptor}")
        return Place(held, f"{root}{within}", within, (user, group), descriptor)
    raise ProcessError(
        f"{process.name} has no folder for its recording: none of "
        f"{', '.join(f'/{one}' for one in _FOLDERS)} in its root can be written to"
    )


def _made_in(root: Path, folder: str, name: str, user: int, group: int) -> int | None:
    """Create a folder below a process's root. Return its descriptor, or None on failure.

    Links are not followed, because a link in the files of a container could lead anywhere.
    """
    directory = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    at = os.open(root, directory)
    try:
        for part in folder.split("/"):
            deeper = os.open(part, directory | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = deeper
        os.mkdir(name, 0o700, dir_fd=at)
        made = os.open(name, directory | os.O_NOFOLLOW, dir_fd=at)
        if user != os.geteuid():
            os.fchown(made, user, group)
    except OSError:
        return None
    else:
        return made
    finally:
        os.close(at)


def _owner(process: int) -> tuple[int, int]:
    """Return the user and the group with which a process creates files."""
    status = Path(f"/proc/{process}/status").read_text("utf-8", "replace")
    found = {line.partition(":")[0]: line.split()[1:] for line in status.splitlines()}
    return int(found["Uid"][3]), int(found["Gid"][3])


def _shares_files(process: int) -> bool:
    """Return whether a process sees the same files as simalloc at the same paths."""
    try:
        same_root = Path(f"/proc/{process}/root").samefile("/")
        mounts = [Path(f"/proc/{one}/ns/mnt").readlink() for one in ("self", process)]
    except OSError:
        return False
    return same_root and mounts[0] == mounts[1]
