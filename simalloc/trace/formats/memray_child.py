"""Writes the records of a memray file to stdout: a program of its own, run by `memray.py`.

memray's reader is native code that trusts the file; a damaged one can end the process that reads
it. A record is five int64: allocator, address, size, thread, place.
"""

from __future__ import annotations

import sys
from array import array
from itertools import islice

import memray

RECORDS = 1 << 14
AGGREGATED = 3
UNREADABLE = 4


def write_records(path: str) -> None:
    """Write all records of a file."""
    with memray.FileReader(path) as reader:
        records = reader.get_allocation_records()
        while block := list(islice(records, RECORDS)):
            numbers = array("Q")
            for each in block:
                numbers.extend((each.allocator, each.address, each.size, each.tid, each.stack_id))
            sys.stdout.buffer.write(numbers.tobytes())


if __name__ == "__main__":
    try:
        write_records(sys.argv[1])
    except NotImplementedError:
        sys.exit(AGGREGATED)
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - whatever it is, the file cannot be read
        sys.stderr.write(str(error))
        sys.exit(UNREADABLE)
