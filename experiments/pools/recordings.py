"""Recordings of real allocators of fixed pools, compared with their models event by event.

A folder of recordings contains `expected/TRACE@pool=BYTES,SETTING=VALUE,....csv.zst`. The traces
are in its folder `traces/`, or in `traces-rtos/` beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import zstandard

from simalloc.heap import Realloc
from simalloc.heap.running.setting import Setting
from simalloc.heap.watch.each_event import REFUSED, Watched
from simalloc.policy import find_policy
from simalloc.trace import EventSource
from simalloc.trace.catalogue import open_source

POLICIES: Final = {
    "freertos-heap_1": "freertos-heap-1",
    "freertos-heap_2": "freertos-heap-2",
    "freertos-heap_4": "freertos-heap-4",
    "freertos-heap_5": "freertos-heap-5",
    "tlsf": "tlsf:mechanism=on",
    "esp": "esp-idf",
    "tlsf_bsd": "tlsf-bsd",
    "lwip-mem": "lwip",
    "newlib-full": "newlib",
    "umm_malloc": "umm-malloc",
    "micropython-gc": "micropython",
    "threadx-bytepool": "threadx",
    "rtx5-memory": "rtx5",
    "rtthread-mem": "rt-thread",
    "rtthread-memheap": "rt-thread-memheap",
    "nuttx-mm": "nuttx",
    "wee_alloc": "wee-alloc",
}
"""Policies of folders whose names differ from the policies' names."""

Row = list[str]


class Compared(NamedTuple):
    """Number of compared rows, and the differing rows as (expected, found)."""

    rows: int
    different: list[tuple[Row, Row]]


class Recording(NamedTuple):
    """A file with the real code's results on a trace."""

    path: Path
    trace: str
    policy: str
    """Text of the policy for `find_policy`."""

    @classmethod
    def of(cls, path: Path) -> Recording:
        """Return the recording in a file, described by the file's and the folder's names."""
        trace, _, given = path.name.removesuffix(".csv.zst").partition("@")
        return cls(path, trace, spell_model(path.parents[1].name, given))

    def rows(self) -> list[Row]:
        """Return the heading and the rows, as text."""
        packed = self.path.read_bytes()
        text = zstandard.ZstdDecompressor().decompressobj().decompress(packed).decode()
        return [line.split(",") for line in text.splitlines() if not line.startswith("#")]

    def compare(self) -> Compared:
        """Compare every column of every row with the model's columns."""
        head, *expected = self.rows()
        found = self._of_model(head[2:])
        if expected[0][0] != "0":
            next(found)
        pairs = zip(expected, found, strict=True)
        return Compared(len(expected), [(one, other) for one, other in pairs if one != other])

    def _of_model(self, names: Sequence[str]) -> Iterator[Row]:
        """Yield the rows of the model; the first is the state before any event."""
        policy = find_policy(self.policy)
        source = open_trace(self.path.parents[1], self.trace)
        watched = Watched(Setting.of(source, policy, realloc=Realloc.IN_PLACE))
        description = policy.description

        def row(values: Sequence[int]) -> Row:
            figures = dict(zip(watched.names, values, strict=True))
            spelled = dict(
                zip(watched.names, description.spell_figures(figures, None), strict=True)
            )
            return [str(spelled[name]) for name in names]

        yield ["0", "-", *row(watched.simulation.report())]
        event = 0
        for sight in watched.sights():
            for place, offset in enumerate(sight.offset.tolist()):
                event += 1
                location = int(sight.region[place]), int(sight.number[place]), offset
                address = "-" if offset < 0 else description.spell_location(*location)
                address = "x" if offset == REFUSED else address
                yield [str(event), address, *row(sight.figures[place].tolist())]


def spell_model(folder: str, settings: str) -> str:
    """Return the policy of a folder with settings such as `pool=4096,word=4`."""
    policy = POLICIES.get(folder, folder)
    given = settings.replace("pool=", "capacity=", 1)
    return f"{policy}{',' if ':' in policy else ':'}{given}"


def trace_path(folder: Path, name: str) -> Path:
    """Return the file of a trace, from the folder's own traces or from the shared traces."""
    own = folder / "traces"
    return (own if own.is_dir() else folder.parent / "traces-rtos") / f"{name}.txt.zst"


def open_trace(folder: Path, name: str) -> EventSource:
    """Return a trace of a folder."""
    return open_source(trace_path(folder, name))
