"""`python -m experiments.threads.running`: memory of the programs' own runs, without a recorder.

Each recipe in traces/recipes is run several times under each limit on the number of arenas, with
`sampling.py` in place of the recorder. It is also run with the recorder, whose samples measure the
memory of a process during a recording.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import click

from experiments.mallocs import glibc_here
from experiments.run import experiment, run_command
from experiments.threads.processes import COLUMNS, MEASURED, PROGRAMS, RECORDED, SETTINGS
from simalloc.cli.progress import progress
from simalloc.errors import SimallocError
from simalloc.files import replacing
from simalloc.trace import read_trace

_RECIPES: Final = Path(__file__).parents[2] / "traces" / "recipes"
_SAMPLING: Final = Path(__file__).with_name("sampling.py")
_SYSTEM_PATH: Final = "/usr/bin:/bin"


def _run(program: str, wrapper: Sequence[str], settings: str) -> None:
    """Run a recipe in an empty folder, with another command in place of the recorder."""
    environment = {"PATH": _SYSTEM_PATH, "LC_ALL": "C", "TZ": "UTC", "RECORD": shlex.join(wrapper)}
    if settings:
        environment["GLIBC_TUNABLES"] = f"glibc.malloc.{settings}"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(  # noqa: S603 - our own recipe
            ["/bin/sh", "-eu", str(_RECIPES / f"{program}.sh")],
            cwd=folder,
            env=environment | {"HOME": folder},
            check=False,
        )
    if done.returncode:
        raise SimallocError(f"{program}: the recipe ended with exit code {done.returncode}")


def _rows(program: str, times: int) -> Iterable[tuple[str, str, int | None, int]]:
    """Measure a program under each setting, and during a recording."""
    with tempfile.TemporaryDirectory() as scratch:
        for settings in SETTINGS:
            figures = Path(scratch, "figures")
            for _ in range(times):
                _run(program, [sys.executable, str(_SAMPLING), str(figures)], settings)
            for line in figures.read_text("utf-8").splitlines():
                heap, whole = map(int, line.split())
                yield program, settings or "default", heap, whole
            figures.unlink()
        trace = Path(scratch, "recorded.npz")
        recorder = [sys.executable, "-m", "simalloc", "record", "--no-progress", "-o", str(trace)]
        _run(program, [*recorder, "--"], "")
        samples = read_trace(trace).provenance["resident"]
        yield program, RECORDED, None, max(resident for _, _, resident, _ in samples)


@experiment("python -m experiments.threads.running")
@click.option("--times", type=int, default=8, show_default=True, help="Runs under each setting.")
def command(times: int) -> None:
    """Run the programs with threads and write their peak resident bytes.

    The figures replace processes.csv beside this file. The command takes some minutes.
    """
    rows: list[tuple[str, str, int | None, int]] = []
    with progress("programs", len(PROGRAMS)) as advance:
        for program in PROGRAMS:
            rows += _rows(program, times)
            advance(1)
    glibc, linux = glibc_here(), ".".join(os.uname().release.split(".")[:2])
    lines = [
        "# Resident bytes at the peak, of the heap and of the whole process, in each run.",
        f"# Made by `python -m experiments.threads.running --times {times}`.",
        f"# glibc {glibc}, {os.cpu_count()} cores, Linux {linux}.",
        ",".join(COLUMNS),
        *(",".join("" if value is None else str(value) for value in row) for row in rows),
    ]
    with replacing(MEASURED) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
    click.echo(f"Written to {MEASURED}.", err=True)


if __name__ == "__main__":
    sys.exit(run_command(command))
