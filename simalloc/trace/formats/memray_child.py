"""Writes the records of a memray file to stdout: `memray_child.py FILE NAMES FRAMES`.

`memray.py` runs this module as a separate program. The call paths of the places are written to the
file NAMES as lines of JSON: [place, [[function, file, line], ...]]. A call path has at most its
FRAMES innermost functions. A record consists of five int64: allocator, address, size, thread,
place.

memray's reader is native code that trusts the file, so a damaged file can crash the process that
reads it. The memory and processor time of the process are limited in proportion to the file, so a
damaged length or count cannot exhaust the machine.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from array import array
from itertools import islice
from pathlib import Path
from typing import TextIO

import memray

RECORDS = 1 << 14
AGGREGATED = 3
UNREADABLE = 4
LONGEST = 100  # maximum characters of a name
FREES = (1, 5, 15)
"""Allocators whose records have no call path."""
NAMED = 1 << 16
MEMORY = 160 << 20
"""Fixed limit of the process's data in bytes. The process uses 13 MB before it reads the file."""
MEMORY_A_BYTE = 128
"""Further bytes per byte of the file, because the reader keeps the live allocations."""
SYMBOLS = 2 << 30
"""Further bytes for native traces, because the reader loads the symbols of their libraries."""
FRAMES_A_BYTE = 64
"""Frames per byte of the file. A frame takes at least four bytes, and LZ4 compresses at most 255
times.
"""
SECONDS = 120
"""Processor seconds for the reader's first pass over the file, and for each `RECORDS` records."""
BYTES_A_SECOND = 1 << 20


def limit_memory(wanted: int) -> None:
    """Limit the data of this process to `wanted` bytes."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    within = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (within, hard))


def limit_time(size: int) -> None:
    """Limit the processor time of this process from now on. A signal ends even native code."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS + size // BYTES_A_SECOND)


def write_records(path: str, names: TextIO, frames: int) -> None:
    """Write all records of a file, and name each place before its first allocation."""
    named: set[int] = set()
    size = Path(path).stat().st_size
    memory = MEMORY + MEMORY_A_BYTE * size
    limit_memory(memory)
    limit_time(size)
    with memray.FileReader(path) as reader:
        if reader.metadata.total_frames > FRAMES_A_BYTE * size:
            raise ValueError("it states more frames than its size allows")
        if reader.metadata.has_native_traces:
            limit_memory(memory + SYMBOLS)
        records = reader.get_allocation_records()
        while block := list(islice(records, RECORDS)):
            numbers = array("Q")
            for each in block:
                place = each.stack_id
                numbers.extend((each.allocator, each.address, each.size, each.tid, place))
                if place not in named and each.allocator not in FREES and len(named) < NAMED:
                    named.add(place)
                    calls = [
                        (function[-LONGEST:], file[-LONGEST:], line)
                        for function, file, line in each.stack_trace(frames)
                    ]
                    names.write(json.dumps([place, calls]) + "\n")
            names.flush()
            sys.stdout.buffer.write(numbers.tobytes())
            limit_time(size)


if __name__ == "__main__":
    try:
        with Path(sys.argv[2]).open("w", encoding="utf-8") as file:
            write_records(sys.argv[1], file, int(sys.argv[3]))
    except NotImplementedError:
        sys.exit(AGGREGATED)
    except BrokenPipeError:
        sys.exit(1)
    except MemoryError:
        sys.stderr.write("it needs too much memory for its size")
        sys.exit(UNREADABLE)
    except Exception as error:  # noqa: BLE001 - after any error the file cannot be read
        sys.stderr.write(str(error))
        sys.exit(UNREADABLE)
