"""The mappings of a process, from `/proc/PID/maps` or a core file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

PAGE: Final = 4096
_DELETED: Final = " (deleted)"


@dataclass(frozen=True)
class Mapping:
    """One mapping, from `start` to before `end`."""

    start: int
    end: int
    permissions: str
    """The kernel's four letters, such as `rw-p`."""
    offset: int = 0
    inode: int = 0
    """Number of the file's inode, or 0 for anonymous memory."""
    name: str = ""
    """Path of the file, or a name such as `[heap]`, or empty for other anonymous memory."""

    @property
    def size(self) -> int:
        """Bytes of the mapping."""
        return self.end - self.start

    @property
    def readable(self) -> bool:
        """True if the process may read the mapping."""
        return self.permissions[0] == "r"

    @property
    def writable(self) -> bool:
        """True if the process may write to the mapping."""
        return self.permissions[1] == "w"

    @property
    def anonymous(self) -> bool:
        """True if the mapping belongs to no file and no other process."""
        return self.inode == 0 and self.permissions[3] == "p"

    @property
    def heap_like(self) -> bool:
        """True if malloc may have placed blocks in the mapping."""
        special = self.name in {"[vvar]", "[vdso]", "[vsyscall]", "[vvar_vclock]"}
        return self.anonymous and self.writable and self.readable and not special

    @property
    def deleted(self) -> bool:
        """True if the mapping's file has been deleted."""
        return self.name.endswith(_DELETED)

    @property
    def path(self) -> str:
        """Path of the mapping's file, without the marker of a deleted file."""
        return self.name.removesuffix(_DELETED)


def parse_maps(text: str) -> list[Mapping]:
    """Read `/proc/PID/maps`."""
    mappings = []
    for line in text.splitlines():
        fields = line.split(maxsplit=5)
        start, _, end = fields[0].partition("-")
        mappings.append(
            Mapping(
                start=int(start, 16),
                end=int(end, 16),
                permissions=fields[1],
                offset=int(fields[2], 16),
                inode=int(fields[4]),
                name=fields[5] if len(fields) > 5 else "",
            )
        )
    return mappings


def joined(mappings: Iterable[Mapping]) -> list[Mapping]:
    """Return mappings where malloc may place blocks, with adjacent mappings joined.

    A joined mapping has the name of its first mapping.
    """
    runs: list[Mapping] = []
    for one in mappings:
        if not one.heap_like:
            continue
        if runs and runs[-1].end == one.start:
            runs[-1] = replace(runs[-1], end=one.end, name=runs[-1].name or one.name)
        else:
            runs.append(one)
    return runs


def containing(mappings: Sequence[Mapping], address: int) -> Mapping | None:
    """Return the mapping that contains an address, or None."""
    return next((one for one in mappings if one.start <= address < one.end), None)
