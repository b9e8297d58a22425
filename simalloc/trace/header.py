"""The header of a trace file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from simalloc.errors import TraceError
from simalloc.trace.chunk import CHUNK_EVENTS
from simalloc.trace.events import DEVICE_COLUMNS, OPTIONAL_COLUMNS
from simalloc.trace.provenance import check_provenance

if TYPE_CHECKING:
    from simalloc.trace._c import LiveSlots

VERSION: Final = 3
"""Version of written files. Version 1 had only the ops malloc, free and realloc, and no columns
`stream` and `pool`. Up to version 2, ops took two bits and a file had only one digest."""

_READ: Final = range(1, VERSION + 1)

_IDENTITY: Final = {
    "format": "simalloc trace",
    "version": VERSION,
    "chunk_events": CHUNK_EVENTS,
}


@dataclass(frozen=True)
class Totals:
    """Totals of a trace's events. Maxima are taken after an event, never within one.

    A realloc allocates its new size and frees its old size, but creates no new object.
    """

    events: int
    objects: int
    reallocs: int
    allocated_bytes: int
    max_live_objects: int
    max_live_bytes: int
    final_live_objects: int
    final_live_bytes: int

    @classmethod
    def of(cls, table: LiveSlots, events: int) -> Totals:
        """Return the totals of the events that a table of live objects has seen."""
        return cls(
            events=events,
            objects=table.objects,
            reallocs=table.reallocs,
            allocated_bytes=table.allocated_bytes,
            max_live_objects=table.slots,
            max_live_bytes=table.max_live_bytes,
            final_live_objects=table.slots - table.free_count,
            final_live_bytes=table.live_bytes,
        )


@dataclass(frozen=True)
class Header:
    """A trace's name, provenance, optional columns, totals and digests.

    `digests` contains an entry for each column if the file's version has digests of columns.
    """

    totals: Totals
    sha256: str
    name: str = "trace"
    provenance: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    version: int = VERSION

    def to_json(self) -> bytes:
        """Return the header as stored in the file. Invalid Unicode is escaped as in JSON."""
        stated = _IDENTITY | {
            "totals": asdict(self.totals),
            "sha256": self.sha256,
            "name": self.name,
            "provenance": self.provenance,
            "columns": self.digests,
        }
        text = json.dumps(stated, indent=1, ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace")

    @classmethod
    def from_json(cls, text: bytes) -> Header:
        """Read a stored header. Raises `TraceError` if it is not a valid header of this version."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict) or content.get("format") != _IDENTITY["format"]:
            raise TraceError("the file is not a simalloc trace: its header does not match")
        if content.get("version") not in _READ:
            raise TraceError(
                f"is a trace of version {content.get('version')!r}; this simalloc reads {_READ[0]} "
                f"to {VERSION}"
            )
        if not _is_complete(content):
            raise TraceError(f"its header does not match version {content['version']}")
        check_provenance(content["provenance"])
        return cls(
            Totals(**content["totals"]),
            content["sha256"],
            content["name"],
            content["provenance"],
            tuple(content["columns"]),
            content["columns"] if content["version"] == VERSION else {},
            content["version"],
        )


def _is_complete(content: dict[str, Any]) -> bool:
    """Return whether a header has every entry of its version, with the right types."""
    kinds = {"name": str, "provenance": dict, "totals": dict, "sha256": str}
    kinds["columns"] = dict if content["version"] == VERSION else list
    if content.get("chunk_events") != _IDENTITY["chunk_events"]:
        return False
    if not all(isinstance(content.get(key), kind) for key, kind in kinds.items()):
        return False
    if list(content["columns"]) != [
        name for name in OPTIONAL_COLUMNS if name in content["columns"]
    ]:
        return False
    if content["version"] == 1 and not set(DEVICE_COLUMNS).isdisjoint(content["columns"]):
        return False
    totals = content["totals"]
    return totals.keys() == {part.name for part in fields(Totals)} and all(
        type(value) is int and 0 <= value < 1 << 63 for value in totals.values()
    )
