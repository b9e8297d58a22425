"""Loading of the recorder's library into a running process, and the beginning of a recording."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from simalloc.process.attach.held import Held, HeldProcess
from simalloc.process.attach.loaded import LoadedObject
from simalloc.process.attach.place import Place
from simalloc.process.attach.request import request
from simalloc.process.glibc.capture import Capture
from simalloc.process.glibc.chunks import LIVE, MAPPED_ALONE
from simalloc.process.glibc.held_heaps import HeldHeaps
from simalloc.process.glibc.list_order import read_beside
from simalloc.process.live import LiveProcess
from simalloc.process.saved import save_snapshot
from simalloc.process.snapshot import Pauses, Snapshot
from simalloc.process.take import blocks_of, captured_snapshot
from simalloc.process.target import ProcessError
from simalloc.trace.recorder import (
    HEAP_SUFFIX,
    Start,
    Wanted,
    create_beside,
    preload_library,
    write_start,
)

LIBRARY: Final = "libsimalloc_record-"
"""Prefix of the names of the library's copies. The digest of the file follows."""

_RTLD_NOW: Final = 2
_ATTACH: Final = "simalloc_attach"
_RECORDING: Final = re.compile(r"/[^/]+\.recording/[^/]+\.raw$")


@dataclass(frozen=True)
class Begun:
    """A recording that has begun."""

    raw: Path
    pause: float
    """Duration in seconds for which the process was stopped."""
    start: Start | None
    """Live blocks at the beginning, or None if the heap is not glibc's."""
    problems: tuple[str, ...] = ()
    """Problems with the live blocks, one sentence each."""


def check_unrecorded(process: LiveProcess) -> None:
    """Raise `ProcessError` if a process is already recorded."""
    for one in process.mappings():
        if one.inode and not one.deleted and _RECORDING.search(one.path):
            folder = one.path.rpartition("/")[0]
            raise ProcessError(
                f"{process.name} is already recorded into {folder}. "
                f"`simalloc record --stop {folder}` ends that recording"
            )


def attach(process: LiveProcess, place: Place, wanted: Wanted) -> Begun:
    """Begin to record a process, and save the blocks that are live at that moment.

    Unless a sample is requested, a snapshot of the heap at that moment is also saved. The process
    is stopped once, and its heap is walked afterwards. Raises `ProcessError` if the process cannot
    be recorded; the process then continues unchanged.
    """
    assert process.process is not None
    with preload_library() as library:
        content = library.read_bytes()
    name = f"{LIBRARY}{hashlib.sha256(content).hexdigest()[:16]}.so"
    held, heaps = Held(process), HeldHeaps(process)
    copy = None if _base_of(process, name) else place.write(name, content)
    raw = f"{process.process}.1.raw"
    message = request(f"{place.within}/{raw}", process.process, wanted)
    still = HeldProcess(process.process)
    try:
        with held.hold():
            if copy is not None:
                _load(held, copy)
            recorder = LoadedObject(process, _base_of(process, name), name)
            held.add(recorder)
            _begin(held, recorder, message)
            try:
                held.leave()
                heaps.copy(still)
                pointers = [thread.pointer or 0 for thread in heaps.threads]
                threads = held.place_pointers(pointers)
                held.call(recorder.function("simalloc_begin"), *threads)
            except BaseException:
                held.call(recorder.function("simalloc_detach"))
                held.call(recorder.function("simalloc_end"), 0, 0, alone=True)
                raise
    finally:
        if copy is not None:
            (place.path / name).unlink(missing_ok=True)
    try:
        found = heaps.walk()
    except ProcessError as error:
        unknown = f"The blocks that were live before the recording are unknown: {error}."
        return Begun(place.path / raw, held.pause, None, (unknown,))
    start, problems = _start(found), _problems(found)
    if start is not None:
        write_start(place.path / raw, start if not wanted.every else start.without_blocks())
    if start is not None and not wanted.every:
        try:
            with process.limited_time():
                beside = read_beside(still, found)
                snapshot = captured_snapshot(process, found, beside)
            _write_heap(place.path / raw, snapshot, held.pause)
        except (ProcessError, OSError) as error:
            problems = (*problems, f"The heap at the start is not saved: {error}.")
    return Begun(place.path / raw, held.pause, start, problems)


def _write_heap(raw: Path, snapshot: Snapshot, pause: float) -> None:
    """Save the heap at the beginning of the recording, which was read under one stop."""
    arena_bytes = sum(part.bytes for part in snapshot.parts if part.name != "mapped")
    pauses = Pauses(1, pause, pause, 0, arena_bytes)
    with create_beside(raw, HEAP_SUFFIX) as file:
        save_snapshot(replace(snapshot, pauses=pauses), file)


def _load(held: Held, path: str) -> None:
    """Let the process load the library."""
    loader = held.function("dlopen") or held.function("__libc_dlopen_mode")
    if not loader:
        raise ProcessError(
            f"{held.process.name} has no function dlopen, which is needed to load the recorder"
        )
    if held.call(loader, held.place(os.fsencode(path) + b"\0"), _RTLD_NOW):
        return
    reason = held.function("dlerror")
    text = held.call(reason) if reason else 0
    why = held.process.bytes_at(text, 512).partition(b"\0")[0] if text else b"dlopen failed"
    raise ProcessError(
        f"{held.process.name} could not load the recorder: {why.decode('utf-8', 'replace')}"
    )


def _begin(held: Held, recorder: LoadedObject, message: bytes) -> None:
    """Let the library redirect the malloc calls. Nothing is recorded yet."""
    result = held.call(recorder.function(_ATTACH), held.place(message))
    error = ctypes.c_int(result & 0xFFFFFFFF).value
    if error:
        raise ProcessError(
            f"{held.process.name} cannot record into "
            f"{message.partition(bytes(1))[0].decode('utf-8', 'replace')}: "
            f"{os.strerror(error)}"
        )


def _base_of(process: LiveProcess, name: str) -> int:
    """Return the address of a library in the process's memory, or 0."""
    found = (one for one in process.mappings() if one.offset == 0 and one.path.endswith(f"/{name}"))
    return next((one.start for one in found), 0)


def _start(found: Capture) -> Start | None:
    if not found.heaps:
        return None
    blocks = blocks_of(found)
    live = (blocks.state == LIVE) | (blocks.state == MAPPED_ALONE)
    order = np.argsort(blocks.address[live], kind="stable")
    address, usable = blocks.address[live][order], blocks.usable[live][order]
    return Start.of(address.astype(np.int64), usable.astype(np.int64))


def _problems(found: Capture) -> tuple[str, ...]:
    if not found.heaps:
        return (
            "The blocks that were live before the recording are unknown: the heap is not glibc's.",
        )
    broken = [arena for heap in found.heaps for arena in heap.arenas if arena.walk is None]
    return tuple(
        f"The blocks that were live in the arena at {arena.state.address:#x} are unknown: "
        f"{arena.problem}."
        for arena in broken
    )
