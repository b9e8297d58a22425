"""Reasons why a process has no readable heap, and remedies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simalloc.process.glibc.capture import Capture
from simalloc.process.target import Target

_GO: Final = b"\xff Go buildinf:"
"""Marker that the Go linker writes to each program."""

_ALLOCATORS: Final = ("jemalloc", "mimalloc", "snmalloc", "tcmalloc")
"""Allocators whose libraries have their names."""


def no_heap(target: Target, found: Capture) -> str:
    """Return the reason why no heap was found in a target, and the remedy."""
    paths = sorted({one.path for one in target.mappings() if one.inode})
    allocator = next((path for path in paths if any(name in path for name in _ALLOCATORS)), None)
    if allocator is not None:
        return (
            f"{target.name} ({target.command}) uses an unknown version of the allocator "
            f"{allocator}. Give a file with the allocator's own statistics instead of the "
            "process; docs/running-process.md lists the files that can be read"
        )
    if found.unused:
        return (
            f"{target.name} ({target.command}) has never called glibc's malloc: the heap in "
            f"{found.unused[0].file} is empty. Try again when the program has begun its "
            "work; if it has begun, it uses an allocator that simalloc does not know"
        )
    return f"{target.name} ({target.command}) has no heap of glibc's malloc{_why(target, paths)}"


def _why(target: Target, paths: Sequence[str]) -> str:
    """Return the end of the sentence for a target without glibc's malloc. `paths` are its files."""
    if any(path.endswith("/libc.so") or "/ld-musl-" in path for path in paths):
        return ": its C library is musl. Try it on a system with glibc"
    if _is_go(target):
        return (
            ": it is a Go program, whose heap belongs to Go's runtime. "
            "Use Go's own heap profile: net/http/pprof and `go tool pprof`"
        )
    if target.process is None and not paths:
        return (
            " that can be found, because it does not list the files that were mapped. Let the "
            "kernel or gdb's `gcore` write a new one"
        )
    if not any(".so" in path for path in paths):
        return (
            ": it is linked statically with another C library, such as musl, or with an "
            "unknown allocator. Link it with glibc, and try again"
        )
    return (
        " of a known version. The known versions are 2.31 to 2.44 in 64-bit programs "
        f"on x86-64; `pmap -x {target.process or 'PID'}` prints the process's mappings"
    )


def _is_go(target: Target) -> bool:
    program = next((one for one in target.mappings() if one.inode and one.path[:1] == "/"), None)
    content = None if program is None else target.file_bytes(program)
    return content is not None and _GO in content
