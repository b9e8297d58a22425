"""The system's symbolizers: LLVM's or, without LLVM, the GNU binutils'.

Both demangle C++ and Rust, report inlined functions, and find separate debugging information by
build id in /usr/lib/debug.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any, Final

from simalloc.trace.symbols.plain import plain_name

Frame = tuple[str, str, int]
"""A function, its file and line, or "" and 0 if unknown."""

_UNKNOWN: Final = {"", "??"}
_LINE: Final = re.compile(r"(?P<file>.*):(?P<line>\d+|\?)(?: \(discriminator \d+\))?$")


def symbolizer() -> str | None:
    """Return the name of an installed symbolizer, or None."""
    return next((tool for tool in _TOOLS if shutil.which(tool)), None)


def frames_in(tool: str, path: str, offsets: Sequence[int]) -> list[list[Frame]]:
    """Return the frames of each instruction of a program or library, the innermost first.

    An entry is empty if its function is unknown. All entries are empty if the tool fails.
    """
    command, read = _TOOLS[tool]
    found = read(_run([tool, *command, path], (f"{offset:#x}" for offset in offsets)))
    return _demangled(found) if len(found) == len(offsets) else [[] for _ in offsets]


def _run(command: Sequence[str], lines: Iterable[str]) -> str:
    return subprocess.run(  # noqa: S603 - a tool of the system, found by name
        command, input="".join(f"{line}\n" for line in lines), capture_output=True, text=True,
        check=False, errors="replace",
    ).stdout  # fmt: skip


def _demangled(found: list[list[Frame]]) -> list[list[Frame]]:
    """Demangle remaining names, because LLVM's symbolizer knows fewer templates than binutils."""
    mangled = sorted({frame[0] for frames in found for frame in frames if frame[0][:2] == "_Z"})
    if not mangled or not shutil.which("c++filt"):
        return found
    plain = map(plain_name, _run(["c++filt"], mangled).splitlines())
    names = dict(zip(mangled, plain, strict=False))
    return [[(names.get(name, name), file, line) for name, file, line in each] for each in found]


def _read_llvm(output: str) -> list[list[Frame]]:
    found = []
    for line in output.splitlines():
        answer: dict[str, Any] = json.loads(line)
        frames = (
            _frame(each["FunctionName"], each["FileName"], str(each["Line"]))
            for each in answer.get("Symbol", ())
        )
        found.append([frame for frame in frames if frame[0]])
    return found


def _read_gnu(output: str) -> list[list[Frame]]:
    found: list[list[Frame]] = []
    lines = iter(output.splitlines())
    for line in lines:
        if line.startswith("0x"):
            found.append([])
            continue
        placed = _LINE.match(next(lines, ""))
        frame = _frame(line, *(placed.groups() if placed else ("", "0")))
        if frame[0]:
            found[-1].append(frame)
    return found


def _frame(function: str, file: str, line: str) -> Frame:
    name = "" if function in _UNKNOWN else plain_name(function)
    number = int(line) if line.isdigit() else 0
    return (name, file, number) if number and file not in _UNKNOWN else (name, "", 0)


_TOOLS: Final = {
    "llvm-symbolizer": (("--output-style=JSON", "--obj"), _read_llvm),
    "addr2line": (("--addresses", "--functions", "--inlines", "--demangle", "--exe"), _read_gnu),
}
