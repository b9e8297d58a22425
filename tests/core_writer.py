"""Core files of running processes, written in the kernel's format."""

import struct

import numpy as np

PAGE = 4096
LOAD, NOTE = 1, 4
PRSTATUS, PRPSINFO, FILE = 1, 3, 0x46494C45


def note(kind, content):
    padded = content + bytes(-len(content) % 4)
    return struct.pack("<III", 5, len(content), kind) + b"CORE\0\0\0\0" + padded


def write_core(path, process):
    """Write the writable memory of a process, which must not change meanwhile."""
    mappings = [one for one in process.mappings() if one.writable and one.readable]
    files = [one for one in process.mappings() if one.inode]
    notes = b""
    for thread in process.threads():
        status = bytearray(336)
        struct.pack_into("<i", status, 32, thread.number)
        struct.pack_into("<Q", status, 112 + 21 * 8, thread.pointer)
        notes += note(PRSTATUS, bytes(status))
    notes += note(PRPSINFO, bytes(40) + process.command.encode().ljust(16, b"\0") + bytes(80))
    table = struct.pack("<QQ", len(files), PAGE)
    table += b"".join(struct.pack("<QQQ", f.start, f.end, f.offset // PAGE) for f in files)
    notes += note(FILE, table + b"".join(f.path.encode() + b"\0" for f in files))
    count = len(mappings) + 1
    at = 64 + 56 * count
    heads = struct.pack("<IIQQQQQQ", NOTE, 4, at, 0, 0, len(notes), 0, 4)
    offset = -(-(at + len(notes)) // PAGE) * PAGE
    contents = []
    for one in mappings:
        heads += struct.pack("<IIQQQQQQ", LOAD, 6, offset, one.start, 0, one.size, one.size, PAGE)
        contents.append(process.region(one.start, one.end).data.tobytes())
        offset += one.size
    head = b"\x7fELF\2\1\1" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, count, 0, 0, 0)
    whole = head + heads + notes
    path.write_bytes(whole + bytes(-len(whole) % PAGE) + b"".join(contents))


def damaged(whole, places, values):
    """Return a core file with other values in the words at some positions."""
    words = np.frombuffer(whole, np.uint64).copy()
    words[places] = values
    return words.tobytes()
