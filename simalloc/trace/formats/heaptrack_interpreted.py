"""Reader of heaptrack's interpreted file (its default), where a free names a kind of object.

A line `a SIZE PATH` defines the next kind of object by its size and its allocating call path. `+
KIND` is a malloc, and `- KIND` is a free of one of the live objects of that kind. The freed object
is guessed: either the newest or the oldest.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import NO_EVENT, Grammar
from simalloc.trace.formats.heaptrack_clock import TICK, Clock
from simalloc.trace.formats.line_format import LineFormat
from simalloc.trace.formats.lines import Rows
from simalloc.trace.formats.log import Log
from simalloc.trace.stacks import Frame
from simalloc.trace.symbols import plain_name

_KIND, _EVENT, _STRING, _PLACE, _NODE, _VERSION = range(TICK + 1, TICK + 7)
_WITH_LENGTHS: Final = 3  # file version from which strings are preceded by their length


class _CallPaths:
    """Reads the call tree (`t` lines) and the functions of its places."""

    def __init__(self) -> None:
        self._with_lengths = True
        self._strings = [""]
        self._places = [0]

    def note(self, log: Log, kind: int, line: str) -> None:
        """Add a line that describes call paths."""
        if kind == _STRING:
            self._strings.append(line.split(" ", 1 + self._with_lengths)[-1])
        elif kind == _PLACE:
            self._places.append(log.stacks.place(self._frames(line)))
        elif kind == _NODE:
            place, caller = _numbers(line)[:2]
            known = self._places[place] if place < len(self._places) else 0
            log.stacks.add(caller, known)
        elif kind == _VERSION:
            self._with_lengths = _numbers(line)[1] >= _WITH_LENGTHS

    def _frames(self, line: str) -> list[Frame]:
        """Read `i ADDRESS MODULE [FUNCTION [SOURCE LINE]]`.

        Each inlined function adds three fields.
        """
        address, module, *parts = _numbers(line)
        if not parts[0]:
            return [(f"{self._string(module)} ({address:#x})", "", 0)]
        triples = (parts[at : at + 3] for at in range(0, len(parts) - 2, 3))
        return [
            (plain_name(self._string(function)), self._string(file), row)
            for function, file, row in triples
            if function
        ]

    def _string(self, number: int) -> str:
        return self._strings[number] if number < len(self._strings) else "?"


class _Deaths:
    """Assigns each event an object, and each malloc its size and site."""

    def __init__(self) -> None:
        self._clock, self._paths = Clock(), _CallPaths()
        self._size: list[int] = []
        self._site: list[int] = []
        self._live: list[deque[int]] = []
        self._objects = 0

    def __call__(self, log: Log, rows: Rows) -> Rows:
        kinds = rows.fields["kind"]
        others = np.flatnonzero(kinds > _EVENT)
        for row, line in zip(others.tolist(), rows.lines(others), strict=True):
            self._paths.note(log, int(kinds[row]), line)
        key, size, site = (np.zeros(len(kinds), np.int64) for _ in range(3))
        about, given_size, given_site = (
            rows.fields[name].tolist() for name in ("about", "size", "site")
        )
        newest = log.match_frees == "newest"
        for row in np.flatnonzero((kinds == _KIND) | (kinds == _EVENT)).tolist():
            if kinds[row] == _KIND:
                self._size.append(given_size[row])
                self._site.append(given_site[row])
                self._live.append(deque())
            elif about[row] >= len(self._live):
                raise log.wrong(
                    "the line refers to an object that no earlier line defines",
                    rows.first_line + row,
                )
            elif rows.op[row] == Op.MALLOC:
                key[row] = self._born(about[row])
                size[row], site[row] = self._size[about[row]], self._site[about[row]]
            elif self._live[about[row]]:
                key[row] = self._dead(about[row], newest=newest)
            else:
                reason = "a free of an object of a kind without live objects"
                log.complain("frees of unknown objects", reason, rows.first_line + row)
                rows.op[row] = NO_EVENT
        fields = {**rows.fields, "key": key, "size": size, "site": site}
        return self._clock(log, rows._replace(fields=fields))

    def _born(self, kind: int) -> int:
        self._objects += 1
        self._live[kind].append(self._objects)
        return self._objects

    def _dead(self, kind: int, *, newest: bool) -> int:
        live = self._live[kind]
        return live.pop() if newest else live.popleft()


def _numbers(line: str) -> list[int]:
    return [int(word, 16) for word in re.findall(r"(?<= )[0-9a-f]{1,16}(?= |$)", line)] + [0, 0, 0]


FORMAT: Final = LineFormat(
    name="heaptrack",
    title="heaptrack, interpreted",
    looks=re.compile(rb"v [0-9a-f]+ [0-9a-f]+\r?\n(?:[^\n]*\n)*?[sia] "),
    grammar=Grammar(
        {
            f"+{{!}} {{about:x}}{{kind={_EVENT}}}": Op.MALLOC,
            f"-{{!}} {{about:x}}{{kind={_EVENT}}}": Op.FREE,
            f"c{{!}} {{milliseconds:x}}{{kind={TICK}}}": None,
            f"a{{!}} {{size:x}} {{site:x}}{{kind={_KIND}}}": None,
            f"s {{...}}{{kind={_STRING}}}": None,
            f"i {{...}}{{kind={_PLACE}}}": None,
            f"t {{...}}{{kind={_NODE}}}": None,
            f"v {{...}}{{kind={_VERSION}}}": None,
            **{f"{letter} {{...}}": None for letter in "RxXISm"},
            **dict.fromkeys("AS"),
            "#{...}": None,
            "": None,
        }
    ),
    change=_Deaths,
    changed=("time", "site"),
    may_begin_late=True,  # heaptrack --pid
)
