"""How long a first answer takes: the commands on a small trace, from start to end.

The trace is the first ten thousand events of Espresso. Time is that of the processor, of the
command and of what it starts, so that others at work on the machine matter little. The smallest of
several calls is printed. By turns with the commands runs a Python that imports numpy and does
nothing, which all but the help need.

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

from benchmarks.command import run, say, table_option, write_json
from simalloc import Trace, read_trace, write_trace
from simalloc.report import Format, Rounded, Table, write_table

_EVENTS: Final = 10_000
_TRACE: Final = "small.npz"
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
@click.option("--json", "target", metavar="FILE", help="Write the figures there, too.")
@table_option
def command(repeats: int, target: str | None, table_format: Format) -> None:
    """Measure how much processor time the commands take on a small trace."""
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        write_trace(_beginning(), Path(folder) / _TRACE)
        for turn in range(repeats):
            for name, arguments in _COMMANDS.items():
                say(f"{turn + 1} of {repeats}: {name}")
                spent = _processor_seconds([sys.executable, *arguments], Path(folder))
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


def _processor_seconds(command: list[str], folder: Path) -> float:
    before = os.times()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system


if __name__ == "__main__":
    run(command)
