"""Inputs for fuzzing the import of memray's files, and a fast way to read them."""

import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from select import select

from simalloc.trace.formats import memray as memray_format

START = 20
"""Number of bytes that identify a file: magic, format and Python versions, flags."""
SECONDS = 8
WEIGHTS = (6, 1, 2)
"""Weights of the uncompressed samples; the last ones are rarer because they take longer."""
LZ4_START = b"\x04\x22\x4d\x18\x60\x40\x82"
LZ4_BLOCK = 1 << 16
LZ4_STORED = 1 << 31
"""Flag in the length of a block of the LZ4 frame format that marks it as uncompressed."""


@cache
def samples():
    """Return files of memray, which must be installed; they differ from run to run."""
    return [
        captured(),
        captured(native_traces=True),
        captured(trace_python_allocators=True),
        captured(compressed=True),
    ]


def captured(*, compressed=False, **options):
    """Return a file of memray; if it is not compressed, without its padding of zeros."""
    import memray  # noqa: PLC0415 - needed for this format only

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        destination = memray.FileDestination(path, compress_on_exit=compressed)
        with memray.Tracker(destination=destination, **options):
            kept = [allocate(depth) for depth in range(4)]
            thread = threading.Thread(target=allocate, args=(3,))
            thread.start()
            thread.join()
            del kept[2]
        content = path.read_bytes()
        return content if compressed else content.rstrip(b"\0")


def allocate(depth):
    """Allocate and reallocate a block below some calls."""
    if depth:
        return allocate(depth - 1)
    block = bytearray(1000)
    block.extend(bytes(5000))
    return block


def lz4(content):
    """Return a file in an LZ4 frame without compression, in which damage inside remains visible."""
    blocks = [content[at : at + LZ4_BLOCK] for at in range(0, len(content), LZ4_BLOCK)]
    framed = [(len(block) | LZ4_STORED).to_bytes(4, "little") + block for block in blocks]
    return LZ4_START + b"".join(framed) + bytes(4)


def mutated(rng, mutate):
    """Return a sample mutated by `mutate`, mostly only after its start.

    Half of the uncompressed samples are then put into an LZ4 frame. Few samples are compressed
    before the mutation, because damage then mostly ends the reading at once.
    """
    *plain, compressed = samples()
    is_compressed = rng.randrange(16) == 0
    content = compressed if is_compressed else rng.choices(plain, WEIGHTS)[0]
    start = rng.choice((0, START, START, START, START, START))
    damaged = bytearray(content[start:])
    mutate(rng, damaged)
    whole = content[:start] + bytes(damaged)
    return whole if is_compressed or rng.randrange(2) else lz4(whole)


class Server:
    """A process that reads files in a folder, in the same way as `memray_child.py`.

    `file` is the last file that it read, `peak` its maximum memory in kilobytes. If a file is
    damaged, memray's reader reads uninitialised memory, and two readings of the file may differ.
    The importer must be reproducible. Therefore a file is read only once, and its result is cached.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.file = None
        self.code = self.peak = 0
        self.put("file", samples()[1])
        program = Path(__file__).with_name("memray_server.py")
        self.process = subprocess.Popen(
            [sys.executable, "-I", program, memray_format.CHILD, "file", "names", "5"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout.readline(), "the server has not begun"

    def put(self, name, content):
        """Write a file into the folder."""
        (self.folder / name).write_bytes(content)

    def get(self, name):
        """Return the content of a file in the folder."""
        return (self.folder / name).read_bytes()

    def start_child(self, arguments, complaint):
        """Read a file; replaces the importer's `start_child`."""
        file, names, _ = arguments
        content = Path(file).read_bytes()
        if content != self.file:
            self.file = content
            self.ask()
        Path(names).write_bytes(self.get("names"))
        complaint.write(self.get("complaint"))
        return Ended(self.get("records"), self.code)

    def ask(self):
        """Let the process read the file."""
        self.put("file", self.file)
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        ready, _, _ = select([self.process.stdout], [], [], SECONDS)
        assert ready, "the input takes too long"
        answer = self.process.stdout.readline()
        assert answer, "the server has ended"
        self.code, kilobytes = map(int, answer.split())
        self.peak = max(self.peak, kilobytes)


class Ended:
    """A process that has ended, with the attributes that the importer uses."""

    def __init__(self, output, code):
        self.stdout = BytesIO(output)
        self.code = code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def wait(self):
        return self.code


@contextmanager
def served():
    """Make the importer read files through a server, and yield the server."""
    start_child = memray_format.start_child
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        memray_format.start_child = server.start_child
        try:
            yield server
        finally:
            memray_format.start_child = start_child
            server.process.stdin.close()
            server.process.stdout.close()
            server.process.wait()
