"""heaptrack's files: this module reads raw files, and interpreted files with a guess.

Interpreted files contain no addresses.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.formats import heaptrack_interpreted
from simalloc.trace.formats.grammar import Grammar
from simalloc.trace.formats.heaptrack_clock import TICK, Clock
from simalloc.trace.formats.line_format import Change, LineFormat
from simalloc.trace.formats.lines import Rows
from simalloc.trace.formats.log import Log, Reading
from simalloc.trace.formats.stream import HEAD_BYTES
from simalloc.trace.stacks import Frame
from simalloc.trace.symbols import Place

_START: Final = rb"v [0-9a-f]+ [0-9a-f]+\r?\n"
_NODE, _MODULE = TICK + 1, TICK + 2  # values of the field `kind` in lines without an event
_MAX_MODULES: Final = 1 << 14
_LONGEST_NAME: Final = 200  # maximum characters of a module's name, which occurs in many paths


class _CallPaths:
    """Reads the call tree: each `t` line contains an address and the number of its caller.

    An address belongs to the last module (`m` line) that begins at or before it. The module called
    x is the program itself, which an `X` or `x` line names.
    """

    def __init__(self) -> None:
        self._modules: dict[int, str] = {}
        self._starts: list[int] = []
        self._program = "x"

    def note(self, log: Log, rows: Rows) -> None:
        """Add the modules and nodes in the next lines."""
        kind = rows.fields["kind"]
        mapped = np.flatnonzero(kind == _MODULE)
        if len(mapped):
            for line in rows.lines(mapped):
                self._map(line)
            self._starts = sorted(self._modules)
        nodes = np.flatnonzero(kind == _NODE)
        address, caller = (rows.fields[name][nodes].tolist() for name in ("address", "caller"))
        for at, by in zip(address, caller, strict=True):
            log.stacks.add(max(by, 0), log.stacks.place(self._place(at)))

    def _map(self, line: str) -> None:
        """Read `x LENGTH PROGRAM` or `m LENGTH NAME START ...`; a name may contain spaces."""
        letter, length, rest = (*line.split(" ", 2), "", "")[:3]
        if not re.fullmatch("[0-9a-f]{1,4}", length):
            return
        name, rest = rest[: int(length, 16)][-_LONGEST_NAME:], rest[int(length, 16) :]
        start = re.match(" ([0-9a-f]{1,16})( |$)", rest)
        if letter == "x":
            self._program = name
        elif start and len(self._modules) < _MAX_MODULES:
            self._modules[int(start[1], 16)] = self._program if name == "x" else name

    def _place(self, address: int) -> Place | list[Frame]:
        before = bisect_right(self._starts, address)
        if not before:
            return [(f"{address % 2**64:#x}", "", 0)]
        start = self._starts[before - 1]
        return Place(self._modules[start], address - start)


def _change() -> Change:
    clock, paths = Clock(), _CallPaths()

    def change(log: Log, rows: Rows) -> Rows:
        paths.note(log, rows)
        return clock(log, rows)

    return change


@dataclass(frozen=True)
class HeaptrackFormat(LineFormat):
    """The raw file. An interpreted file begins in the same way."""

    def read(self, log: Log) -> Reading:
        """Read the log's events. Raises `TraceError` for a missing or an unnecessary guess."""
        if not heaptrack_interpreted.FORMAT.sniff(log.stream.peek(HEAD_BYTES)):
            return super().read(log)
        if log.match_frees is None:
            raise log.wrong(
                "is a file that heaptrack has interpreted, which does not state the object of "
                "each free. `simalloc import --match-frees newest` (or oldest) guesses the "
                "object; `heaptrack --raw COMMAND` records a file that states it"
            )
        log.guessed = True
        return heaptrack_interpreted.FORMAT.read(log)


FORMAT: Final = HeaptrackFormat(
    name="heaptrack",
    title="heaptrack",
    looks=re.compile(_START),
    grammar=Grammar(
        {
            "+{!} {size:x} {site:x} {key:x}": Op.MALLOC,
            "-{!} {key:x}": Op.FREE,
            "c{!} {milliseconds:x}{kind=1}": None,
            "t{!} {address:x} {caller:x}{kind=2}": None,
            "m {...}{kind=3}": None,
            "x {...}{kind=3}": None,
            **{f"{letter} {{...}}": None for letter in "RvXIS"},
            **dict.fromkeys("AS"),
            "#{...}": None,
        }
    ),
    pointers=True,
    change=_change,
    changed=("time",),
    may_begin_late=True,  # heaptrack --pid
)
