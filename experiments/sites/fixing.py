"""A fix in the program: the prediction of `simalloc sites --propose`, and the measured effect."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Final

from simalloc.measure.sites import Proposal, best_apart
from simalloc.trace import read_trace

PROGRAMS: Final = Path(__file__).with_name("programs")
COMPILERS: Final = {
    "guilty.c": ("cc", "-O2", "-g"),
    "guilty.cc": ("c++", "-std=c++17", "-O2", "-g"),
    "guilty.rs": ("rustc", "-O", "-g"),
    "guilty.py": (),
}
APART: Final = "apart"
"""Argument that enables the fix in the programs."""
TIMES: Final = 5
"""Number of times that each program is recorded and run."""
_POLL_SECONDS: Final = 0.02


@dataclass(frozen=True)
class Fix:
    """A program and its fix: the best proposal, and the anonymous memory of the process."""

    source: str
    proposal: Proposal
    resident: int
    """Resident bytes at the end of the unchanged program."""
    resident_apart: int
    """Resident bytes at the end of the program with the proposed arena."""

    @property
    def saved(self) -> int:
        """Resident bytes that the fix saves."""
        return self.resident - self.resident_apart

    @property
    def off(self) -> float:
        """Difference of the measured from the predicted saving, as a share of the latter."""
        return self.saved / self.proposal.apart.saved - 1


def fixes() -> list[list[Fix]]:
    """Measure the program `TIMES` times in each language that has an installed compiler."""
    there = (source for source, compiler in COMPILERS.items() if not compiler or which(compiler[0]))
    return [[fix_of(source) for _ in range(TIMES)] for source in there]


def fix_of(source: str) -> Fix:
    """Record a program, request a proposal, and run the program without the recorder both ways."""
    with TemporaryDirectory() as folder:
        command = command_of(source, Path(folder))
        path = Path(folder) / "program.npz"
        python = ["--python"] * source.endswith(".py")
        record = ["-m", "simalloc", "record", "--stacks", *python, "-o", str(path), "--"]
        subprocess.run(  # noqa: S603 - our own programs
            [sys.executable, *record, *command],
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        best, *_ = best_apart(read_trace(path), "pymalloc" if python else "ptmalloc")
        return Fix(source, best, _resident(command), _resident([*command, APART]))


def command_of(source: str, folder: Path) -> list[str]:
    """Return the command that runs a program, after compilation into a folder if necessary."""
    compiler = COMPILERS[source]
    if not compiler:
        return [sys.executable, str(PROGRAMS / source)]
    program = folder / "program"
    subprocess.run([*compiler, "-o", program, PROGRAMS / source], check=True)  # noqa: S603 - ours
    return [str(program)]


def _resident(command: Sequence[str]) -> int:
    """Return the anonymous resident bytes of one of our programs when it waits for input."""
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:  # noqa: S603
        here = Path("/proc") / str(process.pid)
        while (here / "stat").read_text().rpartition(")")[2].split()[0] != "S":
            time.sleep(_POLL_SECONDS)
        _, resident, shared, *_ = map(int, (here / "statm").read_text().split())
        assert process.stdin is not None
        process.stdin.close()
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
