"""Find the program that a command runs, and check that the recorder can be loaded into it."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from simalloc.errors import SimallocError
from simalloc.trace.recorder.built_in import ANY_MALLOC, FREE_THREADED, GO, built_in, sanitizer

EXIT_NOT_FOUND: Final = 127
EXIT_NOT_EXECUTABLE: Final = 126
EXIT_NOT_RECORDABLE: Final = 2

_MACHINES: Final = {"x86_64": 62, "aarch64": 183}
_ELF_64_LITTLE: Final = b"\x7fELF\x02\x01"
_ELF_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_PROGRAM_HEADER: Final = struct.Struct("<IIQQQQQQ")
_PT_INTERP: Final = 3
_LONGEST_FIRST_LINE: Final = 256
_MAX_INTERPRETERS: Final = 5


class ProgramError(SimallocError):
    """Error for a program that cannot be recorded.

    `exit_code` is the code that a shell would return, or 2.
    """

    def __init__(self, message: str, exit_code: int = EXIT_NOT_RECORDABLE) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def check_python(command: Sequence[str]) -> None:
    """Raise `ProgramError` for a Python that cannot serve its objects from malloc.

    A Python that interprets a script or is started by `env` is also checked.
    """
    for program in _programs(_found(command[0]), command[1:], _MAX_INTERPRETERS):
        if built_in(program.resolve()) == FREE_THREADED:
            raise ProgramError(
                f"{program}: a free-threaded Python allocates its objects only with its own "
                "mimalloc. Record a Python with the GIL, or leave out --python to record all other "
                "memory"
            )


def _programs(path: Path, arguments: Sequence[str], interpreters: int) -> Iterator[Path]:
    """Yield the programs that a command executes in turn, as far as its arguments name them."""
    yield path
    with path.open("rb") as file:
        words = _interpreter_words(file.read(_LONGEST_FIRST_LINE))
    if words and interpreters:
        rest = [*words[1:], str(path), *arguments]
        yield from _programs(Path(words[0]), rest, interpreters - 1)
    elif path.name == "env":
        named = next(iter(_named_by_env(arguments)), "")
        found = shutil.which(named) if named else None
        if found is not None and interpreters:
            yield from _programs(Path(found), [], interpreters - 1)


def check_process(process: int) -> None:
    """Raise `ProgramError` if the recorder's library cannot be loaded into a running process."""
    path = Path(f"/proc/{process}/exe")
    try:
        name = path.readlink()
        with path.open("rb") as file:
            _check_binary(path, file.read(_LONGEST_FIRST_LINE), file)
    except ProgramError as error:
        raise ProgramError(str(error).replace(str(path), f"process {process} ({name})")) from None
    except OSError as error:
        raise ProgramError(f"process {process} cannot be examined: {error.strerror}") from None


def find_program(command: Sequence[str]) -> Path:
    """Return the file that `command` runs, after checking that it can be recorded.

    Raises `ProgramError` if the file does not exist or cannot be executed, or if the recorder's
    library would not be loaded into it. The library is not loaded into static programs, programs
    that run with another user's rights, and programs built for another machine or C library. For a
    script, its interpreter is checked.
    """
    path = _found(command[0])
    _check(path, command[1:], _MAX_INTERPRETERS)
    return path


def _found(name: str) -> Path:
    found = shutil.which(name)
    if found is not None:
        return Path(found).absolute()
    path = Path(name)
    if "/" not in name or not path.exists():
        raise ProgramError(f"{name}: program not found", EXIT_NOT_FOUND)
    what = "is a directory" if path.is_dir() else "may not be executed"
    raise ProgramError(f"{name}: {what}", EXIT_NOT_EXECUTABLE)


def _check(path: Path, arguments: Sequence[str], interpreters: int) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(_LONGEST_FIRST_LINE)
            if not start.startswith(b"#!"):
                _check_rights(path)
                _check_binary(path, start, file)
                return
    except PermissionError:
        raise ProgramError(
            f"{path}: it may be executed but not read, so it cannot be recorded; make it readable"
        ) from None
    _check_script(path, start, arguments, interpreters)


def _check_script(path: Path, start: bytes, arguments: Sequence[str], interpreters: int) -> None:
    words = _interpreter_words(start)
    if not words or interpreters == 0:
        raise ProgramError(f"{path}: its first line names no interpreter", EXIT_NOT_EXECUTABLE)
    interpreter = Path(words[0])
    if not os.access(interpreter, os.X_OK):
        raise ProgramError(f"{path}: its interpreter {interpreter} is missing", EXIT_NOT_EXECUTABLE)
    _check(interpreter, [*words[1:], str(path), *arguments], interpreters - 1)
    if interpreter.name == "env":
        named = _named_by_env(words[1:])
        if named:
            _check(_found(named[0]), [], interpreters - 1)


def _interpreter_words(start: bytes) -> list[str]:
    """Return the interpreter of a script and its argument, or an empty list for another file."""
    if not start.startswith(b"#!"):
        return []
    return os.fsdecode(start[2:].split(b"\n")[0]).split(maxsplit=1)


def _named_by_env(arguments: Sequence[str]) -> list[str]:
    """Return the words after `env` that are neither options nor variables, the program first."""
    words = " ".join(arguments).split()
    return [word for word in words if not word.startswith("-") and "=" not in word]


def _check_rights(path: Path) -> None:
    status = path.stat()
    user = status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid()
    group = status.st_mode & stat.S_ISGID and status.st_gid != os.getegid()
    capable = False
    if os.geteuid() != 0:
        with suppress(OSError):
            capable = bool(os.getxattr(path, "security.capability"))
    if user or group or capable:
        raise ProgramError(
            f"{path}: it runs with rights that its caller does not have (setuid, setgid or "
            "file capabilities), so the loader ignores the recorder; run simalloc as the "
            "user whose rights the program gets"
        )


def _check_binary(path: Path, start: bytes, file: BinaryIO) -> None:
    if not start.startswith(b"\x7fELF"):
        raise ProgramError(
            f"{path}: it is neither a program nor a script whose first line names its interpreter "
            "(#!...)",
            EXIT_NOT_EXECUTABLE,
        )
    try:
        machine, interpreter = _elf(start, file)
    except (struct.error, OSError, ValueError):
        raise ProgramError(f"{path}: its ELF header is damaged", EXIT_NOT_EXECUTABLE) from None
    if machine != _MACHINES.get(platform.machine()):
        raise ProgramError(
            f"{path}: it is not built for this machine ({platform.machine()}, 64 bit)"
        )
    if interpreter is None:
        raise ProgramError(_of_static(path))
    if "ld-linux" not in interpreter:
        raise ProgramError(
            f"{path}: it is loaded by {interpreter}, but the recorder needs the loader of "
            "the GNU C library"
        )
    checked_by = sanitizer(path)
    if checked_by is not None:
        raise ProgramError(
            f"{path}: it is built with {checked_by}, which replaces malloc and lays out "
            "memory in its own way; build it without -fsanitize to record it"
        )


def _of_static(path: Path) -> str:
    own = built_in(path)
    if own == GO:
        return (
            f"{path}: it is a Go program, which has a built-in allocator and does not call "
            "malloc; use Go's own memory profiles (runtime/pprof)"
        )
    what = f", with {own} built in" if own not in {None, ANY_MALLOC} else ""
    return (
        f"{path}: it is linked statically{what}, so no library can be put between it and its "
        "malloc; link it dynamically (without -static) to record it"
    )


def _elf(start: bytes, file: BinaryIO) -> tuple[int | None, str | None]:
    """Return the machine (None unless 64 bit, little-endian) and the loader (None if static)."""
    if not start.startswith(_ELF_64_LITTLE):
        return None, None
    header = _ELF_HEADER.unpack_from(start)
    machine, offset, entry_bytes, entries = header[2], header[5], header[9], header[10]
    for entry in range(entries):
        file.seek(offset + entry * entry_bytes)
        kind, _, at, _, _, length, *_ = _PROGRAM_HEADER.unpack(file.read(_PROGRAM_HEADER.size))
        if kind == _PT_INTERP:
            file.seek(at)
            longest = os.pathconf("/", "PC_PATH_MAX")
            return machine, os.fsdecode(file.read(min(length, longest))[:-1])
    return machine, None
