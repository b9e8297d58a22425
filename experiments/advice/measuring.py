"""Records three programs, predicts their memory under other settings, and measures it."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import simalloc
from experiments.mallocs import Progress
from simalloc.advice import Advice, Setting, advise, candidates, machine_of, recorded, settings_of
from simalloc.errors import SimallocError
from simalloc.heap.real import installed

PROGRAMS: Final[Mapping[str, str]] = {
    "idle": "16 threads that are idle",
    "queue": "4 producers, 4 consumers",
    "kept": "nothing to gain",
}
"""Descriptions of the programs, by the names of their source files."""

TIMES: Final = 5
"""Number of runs of a program under each setting."""

_SOURCES: Final = Path(__file__).with_name("programs")
_ALWAYS: Final = ("glibc", "glibc:arena_max=2", "jemalloc", "tcmalloc", "mimalloc")
"""Candidates that are predicted and run besides the advised setting."""


@dataclass(frozen=True)
class Row:
    """A program under a setting: the resident bytes at its end, predicted and in several runs."""

    program: str
    name: str
    line: str
    advised: bool
    live: int
    predicted: float
    held: Sequence[int]


@dataclass(frozen=True)
class Advised:
    """Advice for a program, and its predicted and measured memory."""

    program: str
    advice: Advice
    rows: Sequence[Row]


def measure(progress: Progress) -> list[Advised]:
    """Return the three programs, each recorded once and run under each setting.

    Raises `SimallocError` without a C compiler, or if a program cannot be recorded or run.
    """
    with TemporaryDirectory(prefix="simalloc-") as folder:
        found = []
        with progress("programs", len(PROGRAMS)) as advance:
            for name in PROGRAMS:
                found.append(advised(built(name, Path(folder))))
                advance(1)
    return found


def built(name: str, folder: Path) -> Path:
    """Compile the program's source file and return the executable's path."""
    program = folder / name
    command = ["cc", "-O1", "-pthread", "-o", str(program), str(_SOURCES / f"{name}.c")]
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our sources
    except (OSError, subprocess.CalledProcessError) as error:
        raise SimallocError(f"{name}.c cannot be compiled: {error}") from error
    return program


def advised(program: Path) -> Advised:
    """Record a program, get advice for it, and run it under the advised settings."""
    trace = simalloc.record([str(program)], times=True)
    there = {allocator.name for allocator in installed()}
    tried = [one for one in candidates() if one.allocator in there]
    settings = settings_of(trace, tried, machine=machine_of(trace.provenance))
    advice = advise(trace, settings, recorded(trace.provenance))
    names = dict.fromkeys([*_ALWAYS, advice.best.candidate.name] if advice.line else _ALWAYS)
    chosen = {one.candidate.name: one for one in settings if one.candidate.name in names}
    nothing = held(program, "", "0")
    rows = [_row(program, chosen[name], advice, nothing) for name in names if name in chosen]
    return Advised(program.name, advice, rows)


def _row(program: Path, setting: Setting, advice: Advice, nothing: int) -> Row:
    line = setting.line
    return Row(
        program.name,
        setting.candidate.name,
        line,
        bool(advice.line) and line == advice.line,
        setting.run.final_live_bytes,
        setting.final_bytes,
        sorted(held(program, line) - nothing for _ in range(TIMES)),
    )


def held(program: Path, line: str, *arguments: str) -> int:
    """Return the bytes that a program reports at its end, run under a shell's settings line.

    Raises `SimallocError` if the program fails.
    """
    given = dict(word.split("=", 1) for word in shlex.split(line.removeprefix("export ")))
    done = subprocess.run(  # noqa: S603 - one of our own programs
        [program, *arguments],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or done.stderr:
        raise SimallocError(f"{program.name} under {line!r}: {done.stderr or done.returncode}")
    return int(done.stdout)
