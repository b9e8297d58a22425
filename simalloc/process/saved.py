"""Saving and loading of snapshots."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from simalloc.arrays import load_arrays
from simalloc.process.foreign import Foreign, ForeignClass
from simalloc.process.glibc.chunks import STATE_NAMES
from simalloc.process.heap_state import COLUMNS as STATE_COLUMNS
from simalloc.process.heap_state import HeapState
from simalloc.process.snapshot import Blocks, Keeper, Other, Part, Pauses, Snapshot
from simalloc.process.target import ProcessError
from simalloc.process.typed import typed

_FORMAT: Final = "simalloc snapshot 1"
_OF_STATE: Final = ("has_fast_lists", "parameters")
_MAX_HEADER: Final = 64 << 20
_COLUMNS: Final = {
    "address": (np.uint64, 1),
    "usable": (np.int64, 1),
    "size": (np.int64, 1),
    "state": (np.uint8, 1),
    "arena": (np.int32, 1),
    "resident": (np.int64, 1),
}
"""The type and dimensions of each column of blocks."""
_STATE_COLUMNS: Final = {
    f"state_{name}": (np.int64, 1 if name == "idle" else 2) for name in STATE_COLUMNS
}
_SEQUENCES: Final[dict[str, type[Any]]] = {
    "parts": Part,
    "keepers": Keeper,
    "others": Other,
    "foreign": Foreign,
}


def save_snapshot(snapshot: Snapshot, stream: BinaryIO) -> None:
    """Write a snapshot as .npz, with a column for each field of its blocks and other data as JSON.

    Contents of the process's memory are never written.
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
    """Read a snapshot that `save_snapshot` wrote. Raises `ProcessError` for another file."""
    try:
        header = load_arrays(path, {"header": (np.uint8, 1)}, limit=_MAX_HEADER)["header"]
        rest = json.loads(header.tobytes())
        if not isinstance(rest, dict) or rest.pop("format", None) != _FORMAT:
            raise ProcessError(
                f"{path} is a snapshot of another version of simalloc; take it again with this "
                "version"
            )
        blocks = Blocks(**load_arrays(path, _COLUMNS))
        _check_blocks(blocks)
        if "state" in rest:
            columns = {name.removeprefix("state_"): array
                       for name, array in load_arrays(path, _STATE_COLUMNS).items()}  # fmt: skip
            rest["state"] = typed(HeapState, rest["state"] | columns)
        return _snapshot(blocks, rest)
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise ProcessError(f"{path} is not a snapshot, or is damaged: {error}") from None


def _check_blocks(blocks: Blocks) -> None:
    """Raise `ValueError` unless the columns are consistent and all states exist."""
    if len({len(column) for column in vars(blocks).values()}) != 1:
        raise ValueError("the columns of the blocks differ in length")
    if (blocks.state >= len(STATE_NAMES)).any():
        raise ValueError("a block has an unknown state")


def _snapshot(blocks: Blocks, rest: dict[str, Any]) -> Snapshot:
    """Return a snapshot from its blocks and its JSON. Raises `TypeError` for an invalid value."""
    for one in rest["foreign"]:
        one["classes"] = [typed(ForeignClass, each) for each in one["classes"]]
    for name, kind in _SEQUENCES.items():
        rest[name] = [typed(kind, one) for one in rest[name]]
    rest["pauses"] = typed(Pauses, rest["pauses"])
    return typed(Snapshot, {**rest, "blocks": blocks})
