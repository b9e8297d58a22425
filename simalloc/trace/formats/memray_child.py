"""Writes the records of a memray file to stdout: `memray_child.py FILE NAMES FRAMES`.

A program of its own, run by `memray.py`. To the file NAMES go the call paths of the places, the
innermost FRAMES functions of each, as lines of JSON: [place, [[function, file, line], ...]].

memray's reader is native code that trusts the file; a damaged one can end the process that reads
it. A record is five int64: allocator, address, size, thread, place.
"""

from __future__ import annotations

import json
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


def write_records(path: str, names: TextIO, frames: int) -> None:
    """Write all records of a file, and name the first places of which there are allocations."""
    named: set[int] = set()
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


if __name__ == "__main__":
    try:
        with Path(sys.argv[2]).open("w", encoding="utf-8") as file:
            write_records(sys.argv[1], file, int(sys.argv[3]))
    except NotImplementedError:
        sys.exit(AGGREGATED)
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - whatever it is, the file cannot be read
        sys.stderr.write(str(error))
        sys.exit(UNREADABLE)
