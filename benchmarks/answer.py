"""Time until a first answer: the commands on a small trace, from start to end.

The trace is the first ten thousand events of Espresso. Times are processor time of the command and
its child processes, which depends little on other load. The minimum of several calls is printed.
For comparison, a Python that only imports numpy runs in turn with the commands. All commands except
the help need numpy.

The benchmark installs simalloc with modules compiled to byte code, as pip does. The editable
installation of a clone would check for changed sources at each start, which takes 0.1 seconds.

    python -m benchmarks.answer
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import click
import numpy as np

from benchmarks.command import run, say, table_option, write_json
from simalloc import Trace, read_trace, write_trace
from simalloc.report import Format, Rounded, Table, write_table

_EVENTS: Final = 10_000
_TRACE: Final = "small.npz"
_BUILD: Final = (
    Path(__file__).parents[1] / "build" / f"cp{sys.version_info.major}{sys.version_info.minor}"
)
_FLOOR: Final = "import numpy"
_COMMANDS: Final = {
    f"simalloc run {_TRACE} -p all": ["-m", "simalloc", "run", _TRACE, "-p", "all"],
    f"simalloc info {_TRACE}": ["-m", "simalloc", "info", _TRACE],
    f"simalloc report {_TRACE} -o p.html": ["-m", "simalloc", "report", _TRACE, "-o", "p.html"],
    "simalloc --help": ["-m", "simalloc", "--help"],
    _FLOOR: ["-c", "import numpy"],
}


@click.command()
@click.option("--repeats", type=click.IntRange(min=1), default=7, show_default=True)
@click.option("--json", "target", metavar="FILE", help="JSON file of the figures.")
@table_option
def command(repeats: int, target: str | None, table_format: Format) -> None:
    """Measure how much processor time the commands take on a small trace."""
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        write_trace(_beginning(), Path(folder) / _TRACE)
        place = _install(Path(folder))
        for turn in range(repeats + 1):
            for name, arguments in _COMMANDS.items():
                say(f"{turn} of {repeats}: {name}")
                spent = _processor_seconds(arguments, Path(folder), place)
                if turn:  # the first call compiles the modules
                    seconds[name] = min(spent, seconds.get(name, spent))
    say("")
    floor = seconds[_FLOOR]
    rows = [(name, Rounded(s, 2), Rounded(s / floor, 1)) for name, s in seconds.items()]
    columns = ("command", "seconds of processor time", "times numpy")
    write_table(Table("A first answer", columns, rows), table_format, sys.stdout)
    if target:
        write_json(target, {"events": _EVENTS, "repeats": repeats, "seconds": seconds})


def _beginning() -> Trace:
    whole = read_trace("espresso")
    columns = (column[:_EVENTS] for column in (whole.op, whole.object, whole.size))
    return Trace.from_events(*columns, name="small")


def _install(folder: Path) -> str:
    """Install the clone's build, and return its path and the path of its dependencies."""
    meson = Path(sys.executable).parent / "meson"
    options = ("--no-rebuild", "--quiet", "--destdir", str(folder))
    subprocess.run([meson, "install", "-C", _BUILD, *options], check=True)
    site = next(folder.rglob("site-packages"))
    return f"{site}{os.pathsep}{Path(np.__file__).parents[1]}"


def _processor_seconds(arguments: list[str], folder: Path, place: str) -> float:
    settings = {"PYTHONPATH": place, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    settings["PYTHONDONTWRITEBYTECODE"] = ""
    command = [sys.executable, "-S", *arguments]  # without `site`: no editable simalloc
    before = os.times()
    subprocess.run(command, cwd=folder, env=os.environ | settings, check=True, capture_output=True)
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system


if __name__ == "__main__":
    run(command)
