"""An allocation log as a stream of bytes, with any compression."""

from __future__ import annotations

import bz2
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import zstandard

from simalloc.errors import TraceError

HEAD_BYTES: Final = 1 << 16
"""Number of bytes of a log that are examined to recognise its format."""

_PIECE: Final = 1 << 10  # zstd may inflate this to 32 MB, and returns all bytes at once
_BLOCK: Final = 1 << 20
_LZMA_MEMORY: Final = 1 << 29
_ZSTD_LEVEL: Final = 12
_DAMAGE: Final = (
    EOFError, OSError, lzma.LZMAError, zipfile.BadZipFile, zlib.error, zstandard.ZstdError,
)  # fmt: skip


class _Inflater(Protocol):
    """The common interface of the decompressors of zlib, bz2, lzma and zstandard."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Deflater(Protocol):
    """The common interface of the compressors."""

    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


class Compression(NamedTuple):
    """A compression: its file suffix, the first bytes of its files, its reader and its writer."""

    name: str
    suffix: str
    magic: bytes
    inflater: Callable[[], _Inflater]
    deflater: Callable[[], _Deflater]


COMPRESSIONS: Final = (
    Compression(
        "gzip",
        ".gz",
        b"\x1f\x8b",
        lambda: zlib.decompressobj(wbits=31),
        lambda: zlib.compressobj(wbits=31),
    ),
    Compression("bzip2", ".bz2", b"BZh", bz2.BZ2Decompressor, bz2.BZ2Compressor),
    Compression(
        "xz",
        ".xz",
        b"\xfd7zXZ\0",
        lambda: lzma.LZMADecompressor(memlimit=_LZMA_MEMORY),
        lzma.LZMACompressor,
    ),
    Compression(
        "zstd",
        ".zst",
        b"\x28\xb5\x2f\xfd",
        lambda: zstandard.ZstdDecompressor().decompressobj(),
        lambda: zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compressobj(),
    ),
)


class LogStream:
    """Reads and decompresses a log from start to end. Compression is recognised by content.

    `name` is the name in messages. `raw` is the file, or a file in an archive if `packed`; its
    position is the progress of reading. Truncated or damaged compressed data is an error. If
    `lenient`, the log ends there instead and is `damaged`.
    """

    def __init__(
        self, raw: BufferedReader, name: str, *, lenient: bool = False, packed: bool = False
    ) -> None:
        self.raw = raw
        self.name = name
        self.damaged = False
        self._lenient = lenient
        start = raw.read(_PIECE)
        compression = _compression(start, name)
        self.compressed = packed or compression is not None
        if compression is None:
            self._blocks = _plain(raw, start)
        else:
            self._blocks = _inflated(raw, start, compression)
        self._held = bytearray()
        self._ended = False
        self._ends_line = False
        self._last = b"\n"

    def end_last_line(self) -> None:
        """Read an unterminated last line as if it were terminated."""
        self._ends_line = True
        self._end_line()

    def _end_line(self) -> None:
        if self._ended and self._ends_line and self._last != b"\n":
            self._held += b"\n"
            self._last = b"\n"

    def peek_line(self, most: int) -> bytes:
        """Return the next line with its newline, or at most `most` of its bytes; do not advance."""
        head = self.peek(most)
        return head[: head.find(b"\n") + 1 or most]

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes, fewer only at the end; do not advance."""
        while len(self._held) < size and not self._ended:
            self._hold()
        return bytes(memoryview(self._held)[:size])

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes, fewer only at the end."""
        taken = self.peek(size)
        del self._held[: len(taken)]
        return taken

    def readline(self) -> bytes:
        """Return the next line with its newline, or at most `HEAD_BYTES` of it."""
        while b"\n" not in self._held and len(self._held) < HEAD_BYTES and not self._ended:
            self._hold()
        return self.read(min(self._held.find(b"\n") + 1 or HEAD_BYTES, HEAD_BYTES))

    def _hold(self) -> None:
        try:
            block = next(self._blocks)
            self._held += block
            self._last = block[-1:] or self._last
        except StopIteration:
            self._ended = True
            self._end_line()
        except _DAMAGE as error:
            if not self.compressed:
                raise
            if not self._lenient:
                raise TraceError(
                    f"cannot be decompressed to its end: {error}",
                    path=self.name,
                    hint="`simalloc import --lenient` keeps the events before the damage",
                ) from error
            self.damaged = self._ended = True


def _compression(start: bytes, name: str) -> Compression | None:
    """Detect the compression from the first bytes. A contradicting name is an error."""
    found = next((each for each in COMPRESSIONS if start.startswith(each.magic)), None)
    said = _said_by(name)
    if not start:
        raise TraceError("is empty", path=name)
    if said is not None and found is not said:
        really = f"{found.name} data" if found else f"not {said.name} data"
        raise TraceError(
            f"has the suffix {said.suffix}, but is {really}; rename the file", path=name
        )
    return found


def _said_by(name: str) -> Compression | None:
    suffix = Path(name).suffix
    return next((each for each in COMPRESSIONS if suffix == each.suffix), None)


def compressed(blocks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield blocks with the compression of the file name's suffix, or uncompressed."""
    said = _said_by(name)
    if said is None:
        yield from blocks
        return
    deflater = said.deflater()
    for block in blocks:
        yield deflater.compress(block)
    yield deflater.flush()


def _plain(raw: BufferedReader, start: bytes) -> Iterator[bytes]:
    while start:
        yield start
        start = raw.read1(_BLOCK)  # one system call, so that Ctrl-C takes effect between two calls


def _inflated(raw: BufferedReader, piece: bytes, compression: Compression) -> Iterator[bytes]:
    """Decompress all concatenated streams, which all four tools can produce."""
    while piece:
        if not piece.startswith(compression.magic):
            piece += raw.read(len(compression.magic))
            if not piece.startswith(compression.magic):
                raise EOFError(f"something else follows the {compression.name} data")
        inflater = compression.inflater()
        while piece and not inflater.eof:
            yield inflater.decompress(piece)
            piece = inflater.unused_data if inflater.eof else raw.read(_PIECE)
        if not inflater.eof:
            raise EOFError(f"the {compression.name} data is cut off")
        piece = piece or raw.read(_PIECE)
