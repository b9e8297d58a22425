"""Snapshots in files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from simalloc.process.foreign import Foreign, ForeignClass
from simalloc.process.heap_state import COLUMNS as STATE_COLUMNS
from simalloc.process.heap_state import HeapState
from simalloc.process.snapshot import Blocks, Keeper, Other, Part, Pauses, Snapshot
from simalloc.process.target import ProcessError


def _foreign(classes: Sequence[dict[str, int]], **rest: Any) -> Foreign:
    """Return the heap of another allocator that was saved as a dictionary."""
    return Foreign(classes=[ForeignClass(**one) for one in classes], **rest)


_FORMAT: Final = "simalloc snapshot 1"
_OF_STATE: Final = ("has_fast_lists", "parameters")
_COLUMNS: Final = ("address", "usable", "size", "state", "arena", "resident")
_SEQUENCES: Final[dict[str, Callable[..., Any]]] = {
    "parts": Part,
    "keepers": Keeper,
    "others": Other,
    "foreign": _foreign,
}


def save_snapshot(snapshot: Snapshot, stream: BinaryIO) -> None:
    """Write a snapshot as .npz: a column for each field of its blocks, and all else as JSON.

    No content of the process's memory is written.
    """
    rest: dict[str, Any] = {"format": _FORMAT}
    for name, value in vars(snapshot).items():
        if name in _SEQUENCES:
            rest[name] = [asdict(one) for one in value]
        elif name == "pauses":
            rest[name] = asdict(value)
        elif name not in {"blocks", "content", "state"}:
            rest[name] = value
    columns = {name: getattr(snapshot.blocks, name) for name in _COLUMNS}
    if snapshot.state is not None:
        rest["state"] = {name: getattr(snapshot.state, name) for name in _OF_STATE}
        columns |= {f"state_{name}": getattr(snapshot.state, name) for name in STATE_COLUMNS}
    header = np.frombuffer(json.dumps(rest).encode(), np.uint8)
    np.savez_compressed(stream, header=header, **columns)


def load_snapshot(path: Path) -> Snapshot:
    """Read a snapshot that `save_snapshot` wrote; raises `ProcessError` if the file has none."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            rest = json.loads(file["header"].tobytes())
            columns = [file[name] for name in _COLUMNS]
            if "state" in rest:
                arrays = {name: file[f"state_{name}"] for name in STATE_COLUMNS}
                rest["state"] = HeapState(**rest["state"], **arrays)
        if rest.pop("format") != _FORMAT:
            raise ProcessError(f"{path} is a snapshot of another version of simalloc")
        for name, kind in _SEQUENCES.items():
            rest[name] = [kind(**one) for one in rest[name]]
        rest["pauses"] = Pauses(**rest["pauses"])
        if len({len(column) for column in columns}) != 1:
            raise ProcessError(f"{path}: the columns of the blocks differ in length")
        return Snapshot(blocks=Blocks(*columns), **rest)
    except (KeyError, ValueError, TypeError, zipfile.BadZipFile, EOFError) as error:
        raise ProcessError(f"{path} is not a snapshot, or is damaged: {error}") from None
