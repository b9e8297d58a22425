"""Inputs for fuzzing the readers of `simalloc snapshot`: core files, snapshots and statistics.

Core files and snapshots are mutations of a valid file. Each fuzzing process makes its own valid
file from a test program, so that inputs cannot be reproduced by number. The current input is
therefore kept in the temporary folder as `core-N` or `heap-N.npz` until it has been read.
"""

import io
import json
import os
import random
import shutil
import struct
import subprocess
import tempfile
import tokenize
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import file_inputs
import inputs
import numpy as np
from core_writer import damaged, write_core
from process_programs import running

from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.heap.start import Start
from simalloc.process import (
    CoreFile,
    LiveProcess,
    Snapshot,
    save_snapshot,
    snapshot_of,
    take_snapshot,
    write_blocks,
)
from simalloc.report.snapshot import (
    snapshot_record,
    snapshot_tables,
    statistics_record,
    statistics_tables,
)
from simalloc.report.table import write_table
from simalloc.trace import Trace

_BLOCKS = 60
"""Number of blocks, small so that a core file has 2 MB instead of 9 MB and is read faster."""
PROCESS = Path(__file__).parents[1] / "unit" / "process"
MALLOC_INFO = b"""<malloc version="1">
<heap nr="0">
<sizes>
  <size from="33" to="48" total="96" count="2"/>
  <unsorted from="1057" to="1057" total="1057" count="1"/>
</sizes>
<total type="fast" count="0" size="0"/>
<total type="rest" count="4" size="52161"/>
<system type="current" size="135168"/>
</heap>
<total type="mmap" count="1" size="200704"/>
</malloc>
"""
FIRST_SEGMENT = 64 + 56 + 8
"""Position of the memory's offset in a core file, after headers and notes."""
WORDS = (0, 1, 8, 1 << 12, 1 << 31, 1 << 47, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


def check_core(number):
    """Read a mutated core file, or expect a `SimallocError`."""
    rng = random.Random(f"core {number}")
    threads = rng.choice((1, 4))
    content = _core(threads)
    (heads,) = struct.unpack_from("<Q", content, FIRST_SEGMENT)
    if rng.random() < 0.5:
        places = rng.choices(_words(threads), k=rng.choice((1, 2, 10, 100)))
        values = [rng.choice((*WORDS, rng.getrandbits(64))) for _ in places]
        content = damaged(content, np.array(places), np.array(values, np.uint64))
    else:
        head = bytearray(content[:heads])
        inputs.mutate(rng, head)
        content = bytes(head) + content[heads:] if rng.random() < 0.8 else bytes(head)
    read_heap(content, f"core-{number}")


def check_snapshot(number):
    """Read a mutated snapshot and continue from it, or expect a `SimallocError`."""
    rng = random.Random(f"snapshot {number}")
    members = {name: bytearray(content) for name, content in _snapshot().items()}
    for _ in range(rng.choice((1, 1, 2, 5))):
        name = rng.choice(list(members))
        if rng.random() < 0.1:
            del members[name]
            break
        if name != "header.npy" and rng.random() < 0.5:
            members[name] = _array(rng, members[name])
        elif name != "header.npy" or rng.random() < 0.2:
            inputs.mutate(rng, members[name])
        else:
            file_inputs.mutate_header(rng, members)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, bytes(content))
    read_heap(stream.getvalue(), f"heap-{number}.npz")


def check_statistics(number):
    """Read a mutated report of an allocator, or expect a `SimallocError`."""
    rng = random.Random(f"statistics {number}")
    content = bytearray(rng.choice(_statistics()))
    inputs.mutate(rng, content)
    read_heap(bytes(content), f"report-{number}")


def read_heap(content, name):
    """Read a file in the same way as `simalloc snapshot` and `simalloc run --start`."""
    path = Path(tempfile.gettempdir()) / name
    path.write_bytes(content)
    with suppress(SimallocError):
        _use(snapshot_of(str(path), content=True))
    path.unlink()


def _use(found):
    """Use a snapshot or an allocator's statistics as the commands do."""
    if not isinstance(found, Snapshot):
        _write(statistics_record(found), statistics_tables(found))
        return
    _write(snapshot_record(found), snapshot_tables(found))
    write_blocks(found, io.StringIO())
    save_snapshot(found, io.BytesIO())
    start = Start.of(found)
    source = start.before(Trace.from_events([0, 1], [0, 0], [100, 0]))
    version = "2.36" if start.has_fast_lists else "2.44"
    simulate(source, f"ptmalloc:version={version}", start=start)


def _write(record, tables):
    json.dumps(record)
    for table in tables:
        write_table(table, "table", io.StringIO())


def _array(rng, member):
    """Return an array with unusual values, type or shape, if the member is still an array."""
    with suppress(ValueError, EOFError, SyntaxError, tokenize.TokenError):
        array = np.load(io.BytesIO(member))
        kind = rng.randrange(4)
        if kind == 0 and array.size:
            array.reshape(-1)[rng.randrange(array.size)] = rng.choice(WORDS) % 251
        elif kind == 1 and array.size:
            flat = array.reshape(-1).view(np.uint8)
            flat[rng.randrange(len(flat))] = rng.randrange(256)
        elif kind == 2:
            array = array.astype(rng.choice(("<f8", "<i4", "<u8", "?", "<c16", "S3", ">i8")))
        else:
            array = rng.choice((array[:-1], array[None], array.reshape(-1), array[:0], array[:1]))
        stream = io.BytesIO()
        np.save(stream, array)
        return bytearray(stream.getvalue())
    return member


@cache
def _core(threads):
    """Return a core file of a program whose blocks are in all kinds of lists."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "continued"
        compiler = shutil.which("cc") or shutil.which("gcc")
        source = PROCESS / "programs" / "continued.c"
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        command = [compiler, "-O1", "-pthread", source, "-o", program]
        subprocess.run(command, env=environment, check=True)
        path = Path(folder) / "core"
        with running(program, str(threads), _BLOCKS, env=environment) as target:
            write_core(path, LiveProcess(target.process))
        return path.read_bytes()


@cache
def _words(threads):
    """Return the positions of the core file's nonzero words, which include words of lists."""
    return np.flatnonzero(np.frombuffer(_core(threads), np.uint64)).tolist()


@cache
def _snapshot():
    """Return the members of a saved snapshot."""
    stream = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "core"
        path.write_bytes(_core(1))
        save_snapshot(take_snapshot(CoreFile(path)), stream)
    with zipfile.ZipFile(stream) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@cache
def _statistics():
    files = ("jemalloc-5.3.0.json", "gperftools-2.10.txt")
    return [*((PROCESS / "data" / name).read_bytes() for name in files), MALLOC_INFO]


CHECKS = {"core": check_core, "snapshot": check_snapshot, "statistics": check_statistics}
"""The readers of heaps of processes, by the names that fuzzing uses."""
