"""Inputs for fuzzing simalloc's own files: traces with corrected digests, and recordings."""

import io
import json
import random
import tempfile
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import inputs
import numpy as np
import zstandard

from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.trace import Trace, read_trace, write_trace
from simalloc.trace.digests import Digests, add_array
from simalloc.trace.recorder import RawRecording

RECORDING = Path(__file__).parents[1] / "data" / "recordings" / "threads.raw.zst"
UNIT = 16 << 10
"""Alignment in bytes of a recording's header and of each of its segments."""
LONGEST_REPLAY = 10_000
VALUES = (-1, 0, 1, 1 << 31, 1 << 47, (1 << 64) - 1, 1e30, "", "x", None, [], {}, [[1, 2, 3]])


def check_trace_file(number):
    """Read a mutated trace file and replay it, or expect a `SimallocError`."""
    rng = random.Random(f"trace-file {number}")
    members = {name: bytearray(content) for name, content in rng.choice(_traces()).items()}
    _mutate_members(rng, members)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, bytes(content))
    read_and_replay(stream.getvalue())


def read_and_replay(content):
    """Read a trace file and, if it is short, replay it; accept a `SimallocError`."""
    with tempfile.TemporaryDirectory() as folder, suppress(SimallocError):
        path = Path(folder) / "mutated.npz"
        path.write_bytes(content)
        trace = read_trace(path)
        if len(trace) <= LONGEST_REPLAY:
            simulate(trace, "ptmalloc", resident=True)


def check_recording(number):
    """Read a mutated raw recording, or expect a `SimallocError`."""
    rng = random.Random(f"recording {number}")
    content = bytearray(_recording())
    for _ in range(rng.choice((1, 1, 3, 30))):
        first = rng.choice((0, UNIT))
        at = rng.randrange(first, rng.choice((UNIT + 200, len(content))))
        content[at] = rng.randrange(256)
    if rng.random() < 0.2:
        inputs.cut_off(rng, content)
    read_recording(content)


def read_recording(content):
    """Read a raw recording and its header; accept a `SimallocError`."""
    with tempfile.TemporaryDirectory() as folder, suppress(SimallocError):
        path = Path(folder) / "1.1.raw"
        path.write_bytes(content)
        for chunk in RawRecording(path).chunks():
            assert len(chunk.op) == len(chunk.key)


@cache
def _traces():
    """Return the members of valid trace files, by name."""
    count = 60
    rng = np.random.default_rng(1)
    op = np.tile([0, 0, 2, 1], count // 4)
    key = np.repeat(np.arange(0, count // 2, 2), 4) + np.tile([0, 1, 0, 1], count // 4)
    size = np.where(op == 1, 0, rng.integers(0, 1 << 20, count))
    columns = {
        "alignment": np.tile([0, 16, 4096], count // 3),
        "thread": rng.integers(0, 3, count),
        "time": np.cumsum(rng.integers(0, 1000, count)),
        "site": rng.integers(0, 3, count),
    }
    stacks = {"places": [[], [["f", "f.c", 1]]], "parent": [0, 0, 1], "place": [0, 1, 1]}
    return [
        _members(Trace.from_events(op, key, size, name="plain")),
        _members(Trace.from_events(op, key, size, provenance={"stacks": stacks}, **columns)),
    ]


def _members(trace):
    stream = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.npz"
        write_trace(trace, path)
        stream = io.BytesIO(path.read_bytes())
    with zipfile.ZipFile(stream) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _mutate_members(rng, members):
    """Mutate one or several members, and mostly correct the header's digests."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        name = rng.choice(list(members))
        if rng.random() < 0.1:
            del members[name]
            return
        if name == "header.npy":
            mutate_header(rng, members)
        else:
            _mutate_array(rng, members[name])
    if rng.random() < 0.9:
        _correct_digests(members)


def _mutate_array(rng, content):
    """Change bytes of an array, and occasionally arbitrary bytes of its member."""
    if rng.random() < 0.1:
        inputs.mutate(rng, content)
        return
    begin = content.find(b"\n") + 1
    if begin < len(content):
        content[rng.randrange(begin, len(content))] = rng.randrange(256)


def mutate_header(rng, members):
    """Change a value of the header if the header is still readable."""
    try:
        header = _read_header(members)
    except ValueError:
        return
    place = header
    while True:
        name = rng.choice(list(place))
        if not isinstance(place[name], dict) or not place[name] or rng.random() < 0.3:
            break
        place = place[name]
    place[name] = rng.choice(VALUES)
    _write_header(members, header)


def _correct_digests(members):
    """Set the header's digests to the digests of the arrays, if the arrays are readable."""
    with suppress(Exception):  # the reader must also find every fault that numpy and json find
        header = _read_header(members)
        digests = Digests()
        for name in ("op", "size", "age"):
            add_array(digests._events, np.load(io.BytesIO(members[f"{name}.0.npy"])))
        for name in header["columns"]:
            digests.update_column(name, np.load(io.BytesIO(members[f"{name}.0.npy"])))
        header["sha256"] = digests.identity.events
        header["columns"] = dict(digests.identity.columns)
        _write_header(members, header)


def _read_header(members):
    return json.loads(bytes(np.load(io.BytesIO(members["header.npy"]))))


def _write_header(members, header):
    stream = io.BytesIO()
    np.save(stream, np.frombuffer(json.dumps(header).encode(), np.uint8))
    members["header.npy"] = bytearray(stream.getvalue())


@cache
def _recording():
    return zstandard.ZstdDecompressor().decompress(RECORDING.read_bytes(), 1 << 24)


READERS = {"trace-file": read_and_replay, "recording": read_recording}
CHECKS = {"trace-file": check_trace_file, "recording": check_recording}
"""The readers of simalloc's own files, by the names that fuzzing uses."""
