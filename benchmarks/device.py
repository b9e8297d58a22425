"""Time and memory of `simalloc device` on a snapshot of a million entries with ten settings.

`python -m benchmarks.device` makes a snapshot of a generated training, and runs
`simalloc device` on it in a separate process. `--megabytes` sets the size of the snapshot, and
measures its import alone. `--unpickler` reads the snapshot by the standard library instead, with
all classes refused and limited memory.
"""

from __future__ import annotations

import gc
import os
import pickle
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

MIB = 1 << 20
LIMIT = 4 << 30
"""Address space of the standard library's reader, in bytes."""
SETTINGS = ("max_split_size_mb:200", "expandable_segments:True,max_split_size_mb:128")
"""Settings in addition to the eight that `simalloc device` always tries."""
_FRAMES = 20
_PLACES = 500
_KEPT = 3000
"""Minimum number of live objects, after the start."""
_USUAL = (4096, 65_536, 3 * MIB, 12 * MIB, 33 * MIB)


def snapshot(entries: int) -> dict[str, Any]:
    """Return a snapshot of `entries` entries, each with a separate list of frames."""
    made = random.Random(1)  # noqa: S311 - reproducible figures
    places = [
        {"name": f"step_{place}", "filename": f"model_{place % 9}.py", "line": place}
        for place in range(_PLACES)
    ]
    live: dict[int, int] = {}
    history: list[dict[str, Any]] = []
    end = 0

    def note(action: str, address: int, size: int) -> None:
        first = made.randrange(_PLACES - _FRAMES)
        history.append(
            {
                "action": action,
                "addr": address,
                "size": size,
                "stream": 0,
                "time_us": len(history),
                "pool_id": (0, 0),
                "frames": places[first : first + _FRAMES],
            }
        )

    while len(history) < entries:
        if len(live) < _KEPT or made.random() < 0.5:
            odd = made.random() < 0.3
            size = int(2 ** made.uniform(9, 26)) if odd else made.choice(_USUAL)
            live[end] = size
            note("alloc", end, size)
            end += -(-size // 512) * 512
        else:
            address = next(reversed(live)) if made.random() < 0.5 else made.choice(list(live)[:50])
            size = live.pop(address)
            note("free_requested", address, size)
            note("free_completed", address, size)
    return {"device_traces": [history], "segments": [], "allocator_settings": {}}


def measured(*arguments: str) -> tuple[float, float, int]:
    """Return a command's duration and processor time in seconds, and its peak resident bytes."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "simalloc", *arguments])
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise click.ClickException("simalloc failed")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


class _DataAlone(pickle.Unpickler):
    """Reads numbers, texts and containers; classes and functions are refused."""

    def find_class(self, module: str, name: str) -> None:
        raise pickle.UnpicklingError(f"{module}.{name} is no data")


def read_by_the_library(path: Path) -> None:
    """Convert the entries of a snapshot to rows of numbers, as the reader in C does."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    gc.disable()
    with path.open("rb") as file:
        whole = _DataAlone(file).load()
    sites: dict[tuple[int, ...], int] = {}
    for history in whole["device_traces"]:
        rows = [
            (
                entry["action"] == "alloc",
                *(entry[name] for name in ("addr", "size", "stream", "time_us")),
                sites.setdefault(tuple(map(id, entry["frames"])), len(sites)),
            )
            for entry in history
        ]
        np.array(rows, np.int64)


def _apart(path: Path) -> tuple[float, float, int]:
    """Return the results of `measured` for the standard library's reader, in a separate process."""
    started = time.perf_counter()
    reader = os.fork()
    if not reader:
        read_by_the_library(path)
        os._exit(0)
    _, status, usage = os.wait4(reader, 0)
    if status:
        raise click.ClickException("the standard library could not read the snapshot")
    used = usage.ru_utime + usage.ru_stime
    return time.perf_counter() - started, used, usage.ru_maxrss * 1024


@click.command()
@click.option("--entries", default=1_000_000, show_default=True, type=click.IntRange(10_000))
@click.option("--megabytes", type=click.IntRange(1), help="Only import a snapshot of this size.")
@click.option("--unpickler", is_flag=True, help="Read the snapshot with the standard library.")
def main(*, entries: int, megabytes: int | None, unpickler: bool) -> None:
    """Measure `simalloc device`, or the import of a large snapshot."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "snapshot.pickle")
        made = os.fork()  # the snapshot needs much memory, which is freed with this process
        if not made:
            count = entries if megabytes is None else megabytes * 8_000
            path.write_bytes(pickle.dumps(snapshot(count), protocol=4))
            os._exit(0)
        if os.waitpid(made, 0)[1]:
            raise click.ClickException("the snapshot could not be made")
        size = path.stat().st_size
        if unpickler:
            seconds, used, most = _apart(path)
        elif megabytes is None:
            options = [part for text in SETTINGS for part in ("--settings", text)]
            seconds, used, most = measured("device", str(path), *options)
        else:
            seconds, used, most = measured("import", str(path), "-o", str(path.with_suffix(".npz")))
    click.echo(
        f"{size / 1e6:,.0f} MB: {seconds:.1f} s, {used:.1f} s of processor time, "
        f"{most / 1e6:,.0f} MB at most; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


if __name__ == "__main__":
    main()
