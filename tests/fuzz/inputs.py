"""Inputs for fuzzing the importers: valid logs of every format, and their mutations."""

import io
import pickle
import random
from functools import cache
from pathlib import Path

import memray_inputs
import numpy as np

from simalloc.errors import TraceError
from simalloc.trace import Trace
from simalloc.trace.formats.importing import feed
from simalloc.trace.formats.log import Log
from simalloc.trace.formats.pattern import PatternFormat
from simalloc.trace.formats.registry import FORMATS
from simalloc.trace.formats.stream import LogStream
from simalloc.trace.intake import Collector

FEW_LINES = 15
LOGS = Path(__file__).parents[1] / "data" / "logs"
LOGALLOC = "7 8 malloc(32)=0x10\n7 8 calloc(3,7)=0x20\n7 9 realloc(0x10,64)=0x30\n7 9 free(0x20)\n"
REPLAY = (
    "12: malloc 0x10 100{0}\n12: calloc 0x20 3 7{0}\n12: realloc 0x30 0x10 9{0}\n12: free 0x20{0}\n"
)
BOARD_LOGS = {
    "esp-sysview": '[0.5] HEAP: Allocated 100 bytes @ 0x3ff8 from task "a" on core 0 by:\n/a.c:4\n'
    '[1.25] HEAP: Freed bytes @ 0x3ff8 from task "b" on core 1 by:\n/a.c:9 (discriminator 2)\n',
    "esp-heap-trace": "32 bytes (@ 0x3ff8, Internal) allocated CPU 0 ccount 0x2e caller 0x40:0x41\n"
    "freed by 0x44\n0x40: leak at /a.c:27\n8 bytes (@ 0x4ff8) allocated CPU 0 ccount 0x3 freed\n",
    "zephyr-heap": "Memory allocated at 0x2000, size 24\nMemory freed at 0x2000, size 24\n",
    "nuttx-note": "a-5 [0] 0.10: tracing_mark_write: C|5|Heap Usage|96|malloc: heap: 0x6 size:72,"
    " address: 0x607\na-5 [0] 0.2: tracing_mark_write: C|5|Heap Usage|0|free: heap: 0x6 size:72,"
    " address: 0x607\n",
}
PLANNER_LOGS = {
    "rmm": "Thread,Time,Action,Pointer,Size,Stream\n7,23:59:59.999100,allocate,0x10,8,0x2\n"
    "8,00:00:00.000001,allocate failure,(nil),99,0\n7,00:00:01.000000,free,0x10,8,0x2\n",
    "tflite-micro": "".join(
        f"Planner buffer ID: {number}, calculated offset: 0, size required: 8, "
        f"first_time_created: {number}, last_time_used: 4\n"
        for number in range(2)
    ),
    "xla": "BufferAssignment:\nallocation 0: size 16, preallocated-temp:\n"
    " value: <0 sum @0> (size=16,offset=0): f32[4]{0}\n value: <1 pair{1}> (size=8,offset=0)\n"
    "  BufferLiveRange:\n    sum{}:0-3\n    pair{1}:3-4\n",
}
SNAPSHOT = [
    {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": 1700, "frames": []}
    for action, addr, size in [
        ("alloc", 4096, 512),
        ("alloc", 8192, 9),
        ("free_completed", 8192, 9),
    ]
]
PATTERNS = PatternFormat({
    "malloc": r"take (?P<size>\S+) (at (?P<id>\S+))?",
    "free": r"drop (?P<id>\S+)",
    "realloc": r"turn (?P<old>\S+) into (?P<id>\S+) of (?P<size>\S+)",
    "ignore": r"^#|^$",
})  # fmt: skip
NUMBERED = PatternFormat({"malloc": r"Alloc\((?P<size>.*)\)", "free": r"Free\((?P<id>.*)\)"})
IMPORTS = {
    **{name: (found, None) for name, found in FORMATS.items()},
    "heaptrack-newest": (FORMATS["heaptrack"], "newest"),
    "heaptrack-oldest": (FORMATS["heaptrack"], "oldest"),
    "pattern": (PATTERNS, None),
    "pattern-numbered": (NUMBERED, None),
}
"""Formats, each with the guess for ambiguous frees, by their names for fuzzing."""
TOKENS = [
    *(b"0", b"-1", b"18446744073709551616", b"9223372036854775807", b"140737488355329"),
    *(
        b"0x",
        b"(nil)",
        b"#",
        b" ",
        b"\t",
        b"\r\n",
        b"\n",
        b"\0",
        b"\xff",
        b"=",
        b"<unfinished ...>",
    ),
    *(b"malloc(", b")", b",", b"realloc", b"free", b"." * 300, b"9" * 300),
]


_MORE = {
    "memory_replay": [REPLAY.format(" 1000 1020")],
    "lifetimes": ["gaps,end,size,buffer,start,alignment\n7-8 9-9@2:5,12,18,a,6,2\n,10,15,b,5,1\n"],
}


@cache
def samples(name):
    """Return valid logs of a format."""
    records = [(1, 4096, 8), (1, 8192, 9), (2, 4096, 20), (3, 8192, 0)]
    texts = {
        "text": "# a comment\nm 0 8\nm 1 9\nr 0 20\nf 1\n",
        "rep": "20000\n2\n4\n1\na 0 512\na 1 128\nr 0 640\nf 1\n",
        "gabber": "Allocate 0x10 8\nAllocate 0x20 9\nFree 0x10\n",
        "lifetimes": "id,lower,upper,size\n0,0,5,8\n1,2,3,9\n",
        "logalloc": LOGALLOC,
        **BOARD_LOGS,
        **PLANNER_LOGS,
        "memory_replay": REPLAY.format(""),
        "pattern": "# mine\ntake 8 at 0x10\ntake 0x9 at b\nturn 0x10 into 0x20 of 20\ndrop b\n",
        "pattern-numbered": "Alloc(552)\nAlloc(8)\nFree(0)\nAlloc(3)\nFree(2)\n",
    }
    if name in texts:
        return [text.encode() for text in (texts[name], *_MORE.get(name, ()))]
    binary = {
        "johnstone-wilson": [
            np.array(records, layout).tobytes() for layout in ("<u4", ">u4", "<u8", ">u8")
        ],
        "glibc-trace": [glibc_trace()],
    }
    if name in binary:
        return binary[name]
    if name == "pytorch":
        snapshot = {"segments": [], "device_traces": [[], SNAPSHOT]}
        return [pickle.dumps(snapshot, protocol) for protocol in (2, 4, 5)]
    if name == "memray":
        return memray_inputs.samples()
    if name.startswith("heaptrack-"):
        return [whole((LOGS / "requests.heaptrack.raw.zst").read_bytes())]
    logs = [path for path in sorted(LOGS.glob("*.*")) if f".{name}" in path.name]
    return [whole(path.read_bytes()) for path in logs]


def glibc_trace():
    """Return a trace of glibc-malloc-trace-utils."""
    mark = [0, 255, 0x1234, 0, 8, 0]
    calls = [[7, 1, 0, 4096, 8, 0], [8, 4, 4096, 8192, 20, 0], [7, 3 | 1 << 8, 8192, 0, 0, 0]]
    rows = ((each[:2], [*each[2:], 0, 0, 0]) for each in (mark, *calls))
    return b"".join(
        np.array(head, "<u4").tobytes() + np.array(rest, "<u8").tobytes() for head, rest in rows
    )


def whole(content):
    """Return the uncompressed content of a log."""
    stream = LogStream(io.BytesIO(content), "log")
    return b"".join(iter(lambda: stream.read(1 << 20), b""))


def mutated(name, number):
    """Return input `number` of a format: a mutated sample, or random bytes."""
    rng = random.Random(f"{name} {number}")
    if rng.random() < 0.05:
        return rng.randbytes(rng.choice((1, 8, 100, 5000)))
    if name == "memray":
        return memray_inputs.mutated(rng, mutate)
    content = bytearray(rng.choice(samples(name)))
    if rng.random() < 0.9:
        keep_a_few_lines(rng, content)
    mutate(rng, content)
    return bytes(content)


def mutate(rng, content):
    """Mutate a sample once or several times."""
    for _ in range(rng.choice((1, 1, 2, 3, 10))):
        rng.choice(MUTATIONS)(rng, content)


def keep_a_few_lines(rng, content):
    """Shorten a sample of many lines to its first line, perhaps a header, and some in a row."""
    lines = content.splitlines(keepends=True)
    if len(lines) > FEW_LINES:
        at = rng.randrange(1, len(lines))
        content[:] = b"".join(lines[:1] + lines[at : at + rng.randrange(1, FEW_LINES)])


def flip_a_bit(rng, content):
    if content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def put_in_a_token(rng, content):
    at = rng.randint(0, len(content))
    content[at : at + rng.choice((0, 0, 1, 5))] = rng.choice(TOKENS)


def put_in_bytes(rng, content):
    at = rng.randint(0, len(content))
    content[at : at + rng.choice((0, 4, 8))] = rng.randbytes(rng.choice((1, 4, 8)))


def take_out_a_piece(rng, content):
    at = rng.randint(0, len(content))
    del content[at : at + rng.choice((1, 2, 10, 100))]


def say_a_piece_again(rng, content):
    at, to = rng.randint(0, len(content)), rng.randint(0, len(content))
    content[to:to] = content[at : at + rng.choice((1, 10, 100))] * rng.choice((1, 2, 20))


def swap_lines(rng, content):
    lines = content.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    content[:] = b"\n".join(lines)


def cut_off(rng, content):
    del content[rng.randint(0, len(content)) :]


MUTATIONS = (
    *(flip_a_bit, put_in_a_token, put_in_bytes, take_out_a_piece),
    *(say_a_piece_again, swap_lines, cut_off),
)


def read(name, content, *, lenient):
    """Read an input as a log; return its trace, or None if the importer refuses it properly."""
    log_format, match_frees = IMPORTS[name]
    return read_by(log_format, content, lenient=lenient, match_frees=match_frees)


def read_by(log_format, content, *, lenient, match_frees=None):
    """Read an input with a format object; `read` does this by the name of a format."""
    try:
        log = Log(LogStream(io.BytesIO(content), "log"), lenient, match_frees)
        reading = log_format.read(log)
        collector = Collector(reading.columns)
        for batch in reading.batches:
            feed(log, batch, collector)
    except TraceError:
        return None
    return collector.trace("log", {})


def check(name, number, *, thorough=True):
    """Read an input; if `thorough`, strictly and leniently. Each result must be a valid trace.

    Without `thorough`, an input is read strictly if its number is odd, and leniently if it is even.
    """
    content = mutated(name, number)
    if not thorough:
        read(name, content, lenient=number % 2 == 0)
        return
    strict = read(name, content, lenient=False)
    lenient = read(name, content, lenient=True)
    if lenient is not None:
        again = Trace.from_events(lenient.op, lenient.object, lenient.size, **lenient.columns)
        assert alike(again, lenient)
    if strict is not None:
        assert lenient is not None, "what is right is right leniently too"
        assert alike(strict, lenient)


def alike(one, other):
    """Return whether two traces have the same columns."""
    if one.columns.keys() != other.columns.keys():
        return False
    return all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in ("op", "object", "size", "slot", *one.columns)
    )
