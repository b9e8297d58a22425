"""The zip archive of a trace file: members are byte arrays, and no content is trusted."""

from __future__ import annotations

import math
import re
import struct
import zipfile
import zlib
from typing import BinaryIO, Final, cast

import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from simalloc.arrays import ZIP_DAMAGE
from simalloc.errors import TraceError
from simalloc.trace.memory import borrow

ZIP_START: Final = b"PK\x03\x04"

DAMAGE: Final = (
    *ZIP_DAMAGE,
    OSError,
    ValueError,
    struct.error,
    cast("type[Exception]", zlib_ng.error),  # the library's stub types it as an instance
)
"""Errors besides `TraceError` that reading a damaged archive may raise."""

_LOCAL_HEADER: Final = struct.Struct("<4s2xH18xHH")
_ENCRYPTED: Final = 1
_NPY_START: Final = re.compile(rb"\x93NUMPY\x01\x00(..)", re.DOTALL)
_NPY_HEADER: Final = re.compile(
    rb"\{'descr': '\|u1', 'fortran_order': False, 'shape': \((\d{1,18}),(?: (\d{1,18}))?\), \} *\n"
)
_NPY_HEADER_LIMIT: Final = 1024

_PIECE: Final = 1 << 12
"""Bytes per inflation, few enough to be still in the cache when they are copied."""


class Archive:
    """Reads whole members of a zip file with little overhead.

    `zipfile` reads only the directory. It would inflate members a few kilobytes at a time with
    zlib, which takes twice the time of zlib-ng.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._directory = zipfile.ZipFile(stream)

    def __len__(self) -> int:
        return len(self._directory.filelist)

    def read(
        self, name: str, *, dimensions: int, limit: int, check_sum: bool = True
    ) -> NDArray[np.uint8]:
        """Read an array of at most `limit` bytes.

        Without `check_sum`, the archive's checksum is not verified. Raises `TraceError`, or an
        error in `DAMAGE`.
        """
        member = self._directory.getinfo(f"{name}.npy")
        content, whole = self._inflate(member, limit + _NPY_HEADER_LIMIT)
        shape, start = _shape(content[:_NPY_HEADER_LIMIT].tobytes())
        if len(shape) != dimensions:
            raise TraceError(
                f"is damaged: {name} is not an array of bytes with {dimensions} dimensions"
            )
        length = math.prod(shape)
        if length > limit:
            raise TraceError(f"is damaged: {name} has {length} bytes; the limit is {limit} bytes")
        if not whole or len(content) != start + length:
            raise TraceError(f"is damaged: {name} does not have the {length} bytes that it states")
        if check_sum and zlib.crc32(content.data) != member.CRC:
            raise TraceError(f"is damaged: {name} does not match its checksum")
        return content[start:].reshape(shape)

    def _inflate(self, member: zipfile.ZipInfo, limit: int) -> tuple[NDArray[np.uint8], bool]:
        """Return up to `limit` bytes of a member, and whether they are the whole member."""
        self._stream.seek(member.header_offset)
        magic, flags, *lengths = _LOCAL_HEADER.unpack(self._stream.read(_LOCAL_HEADER.size))
        if magic != ZIP_START or flags & _ENCRYPTED:
            raise TraceError(
                f"{member.filename} is not located where the archive states, or is encrypted"
            )
        self._stream.seek(sum(lengths), 1)
        packed = min(member.compress_size, 2 * limit)
        if member.compress_type == zipfile.ZIP_STORED:
            content = np.frombuffer(self._stream.read(packed), np.uint8)
            return content[:limit], len(content) <= limit
        if member.compress_type != zipfile.ZIP_DEFLATED:
            raise TraceError(f"{member.filename} is compressed with a method other than deflate")
        return self._inflate_deflated(packed, min(member.file_size, limit))

    def _inflate_deflated(self, packed: int, room: int) -> tuple[NDArray[np.uint8], bool]:
        """Inflate the next `packed` bytes to at most `room`; return whether the result is whole."""
        content, filled = borrow(room), 0
        inflater = zlib_ng.decompressobj(-zlib.MAX_WBITS)
        while not inflater.eof and filled <= room:
            piece = self._stream.read(min(packed, _PIECE))
            if not piece:
                break
            packed -= len(piece)
            part = inflater.decompress(piece, room + 1 - filled)
            fitting = content[filled : filled + len(part)]
            fitting[:] = np.frombuffer(part, np.uint8, len(fitting))
            filled += len(part)
        return content[:filled], inflater.eof and filled <= room


def _shape(content: bytes) -> tuple[tuple[int, ...], int]:
    """Return the shape in the header of a .npy file, and the length of the header.

    The shape is () if the file does not contain an array of bytes.
    """
    start = _NPY_START.match(content)
    if start is None:
        return (), 0
    end = start.end() + int.from_bytes(start[1], "little")
    header = _NPY_HEADER.fullmatch(content, start.end(), end)
    if header is None:
        return (), 0
    return tuple(int(length) for length in header.groups() if length is not None), end
