"""Writes the records of a memray file to stdout: `memray_child.py FILE NAMES FRAMES`.

A program of its own, run by `memray.py`. To the file NAMES go the call paths of the places, the
innermost FRAMES functions of each, as lines of JSON: [place, [[function, file, line], ...]].

memray's reader is native code that trusts the file; a damaged one can end the process that reads
it. Damage that states a length or a count cannot take the machine with it either: the process may
have `MEMORY` bytes of addresses and `MEMORY_A_BYTE` more for each byte of the file, and `SECONDS`
of the processor for each `RECORDS` records. A record is five int64: allocator, address, size,
thread, place.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from array import array
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import memray

if TYPE_CHECKING:
    from typing import TextIO

RECORDS = 1 << 14
AGGREGATED = 3
UNREADABLE = 4
LONGEST = 100  # characters of a name
FREES = (1, 5, 15)
"""Allocators of records that have no call path."""
NAMED = 1 << 16
MEMORY = 1 << 30
MEMORY_A_BYTE = 16
SECONDS = 60


def limit_memory(path: str) -> None:
    """Let this process take memory in proportion to a file."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = MEMORY + MEMORY_A_BYTE * Path(path).stat().st_size
    within = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (within, hard))


def limit_time() -> None:
    """Let this process work for `SECONDS` from now; then a signal ends it, native code or not."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)


def write_records(path: str, names: TextIO, frames: int) -> None:
    """Write all records of a file, and name the first places of which there are allocations."""
    named: set[int] = set()
    limit_time()
    with memray.FileReader(path) as reader:
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
            limit_time()


if __name__ == "__main__":
    try:
        limit_memory(sys.argv[1])
        with Path(sys.argv[2]).open("w", encoding="utf-8") as file:
            write_records(sys.argv[1], file, int(sys.argv[3]))
    except NotImplementedError:
        sys.exit(AGGREGATED)
    except BrokenPipeError:
        sys.exit(1)
    except MemoryError:
        sys.stderr.write("it takes memory out of proportion")
        sys.exit(UNREADABLE)
    except Exception as error:  # noqa: BLE001 - whatever it is, the file cannot be read
        sys.stderr.write(str(error))
        sys.exit(UNREADABLE)
