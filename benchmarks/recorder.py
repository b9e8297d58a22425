"""`python -m benchmarks.recorder`: cost of recording an event, in time and on disk.

The benchmark needs cc, and for the comparison heaptrack and memray. A program (churn.c) runs alone,
recorded and under heaptrack in turn. Then a Python program (churn.py) runs in these ways and under
memray. The minimum of each way counts, because other load on a shared machine only adds time. The
load of the machine at the start is printed too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import click

from benchmarks.command import run
from benchmarks.environment import environment
from simalloc.trace import read_trace
from simalloc.trace.formats.importing import import_log
from simalloc.trace.recorder.launch import preload_library, start
from simalloc.trace.recorder.wanted import DEPTH, EVENTS, Wanted

PROGRAM = Path(__file__).with_name("churn.c")


@click.command()
@click.option("--events", type=click.IntRange(min=20), default=10_000_000, show_default=True)
@click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--live", type=int, multiple=True, default=[100, 10_000, 100_000], show_default=True)
@click.option("--depth", default=16, show_default=True, help="Number of calls from main to malloc.")
@click.option("--threads", type=int, multiple=True, default=[1, 4], show_default=True)
def main(
    *, events: int, repeats: int, live: tuple[int, ...], depth: int, threads: tuple[int, ...]
) -> None:
    """Measure a program alone, recorded by simalloc, and recorded by other installed tools."""
    for name, value in environment().items():
        print(f"{name}: {value}")
    print(f"load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(
        f"{'live, threads':>12} {'':<24} {'ns per event':>12} {'added':>8} {'bytes per event':>15}"
    )
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        churn = directory / "churn"
        subprocess.run(["cc", "-O2", "-pthread", "-o", churn, PROGRAM], check=True)  # noqa: S607 - the C compiler
        for number, objects in product(threads, live):
            command = map(str, (churn, events, objects, depth, number))
            measure([*command], directory, events, repeats, f"{objects:,} by {number}")
        measure_python(directory, events // 20, repeats)


def measure(command: Sequence[str], directory: Path, events: int, repeats: int, case: str) -> None:
    """Print the rows of one program."""
    ways: dict[str, Callable[[Sequence[str], Path], tuple[float, int]]] = {
        "alone": alone,
        "simalloc record": recorded,
        "... with times": recorded_with_times,
        "... with sites": recorded_with_sites,
        "... with stacks": recorded_with_stacks,
    }
    if shutil.which("heaptrack"):
        ways["heaptrack"] = with_heaptrack
    times: dict[str, float] = {}
    sizes: dict[str, int] = {}
    for _ in range(repeats):
        for way, measured in ways.items():
            nanoseconds, size = measured(command, directory)
            times[way] = min(nanoseconds, times.get(way, nanoseconds))
            sizes[way] = size
    for way, time in times.items():
        on_top, on_disk = time - times["alone"], sizes[way] / events
        print(f"{case:>12} {way:<24} {time:>12.1f} {on_top:>8.1f} {on_disk:>15.2f}")


def measure_python(directory: Path, objects: int, repeats: int) -> None:
    """Print the rows of a Python program, with the cost of a million recorded events."""
    script = [str(PROGRAM.with_name("churn.py")), str(objects)]
    python = [sys.executable, *script]
    log, trace = directory / "log", directory / "trace.npz"
    record = [sys.executable, "-m", "simalloc", "record", "--stacks", "-o", str(trace)]
    memray = [sys.executable, "-m", "memray", "run", "--force", "--quiet", "-o", str(log)]
    ways = {
        "alone": python,
        "simalloc record --stacks": [*record, "--", *python],
        "... --python": [*record, "--python", "--", *python],
    }
    if shutil.which("heaptrack"):
        ways["heaptrack"] = ["heaptrack", "--raw", "-o", str(log), *python]
    if find_spec("memray"):
        ways["memray"] = [*memray, *script]
        ways["... --trace-python-allocators"] = [*memray, "--trace-python-allocators", *script]
    times: dict[str, float] = {}
    events: dict[str, int] = {}
    for _ in range(repeats):
        for way, command in ways.items():
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            seconds = float(next(line for line in printed.split("\n") if _is_number(line.encode())))
            times[way] = min(seconds, times.get(way, seconds))
            events[way] = _recorded_events(directory, trace)
    print(f"{'Python program':<37} {'seconds':>8} {'events':>10} {'s per million events':>20}")
    for way, seconds in times.items():
        cost = (seconds - times["alone"]) / events[way] * 1e6 if events[way] else 0.0
        print(f"{way:<37} {seconds:>8.2f} {events[way]:>10,} {cost:>20.3f}")


def _recorded_events(directory: Path, trace: Path) -> int:
    """Return the number of events in the files that a run has written, and remove these files."""
    for log in directory.glob("log*"):
        import_log(log, trace, lenient=True)
        log.unlink()
    events = len(read_trace(trace)) if trace.exists() else 0
    for path in directory.glob("trace*.npz"):
        path.unlink()
    return events


def alone(command: Sequence[str], _: Path) -> tuple[float, int]:
    """Run a program alone; return nanoseconds per event and 0 bytes on disk."""
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout), 0


def recorded(command: Sequence[str], directory: Path, wanted: Wanted = EVENTS) -> tuple[float, int]:
    """Run a program with the recorder's library, as `simalloc record` does."""
    with tempfile.TemporaryDirectory(dir=directory) as raw, preload_library() as library:
        output = Path(raw) / "output"
        with output.open("w+") as stream:
            process = start(command, library, Path(raw), wanted, stdout=stream)
            process.wait()
        size = sum(path.stat().st_size for path in Path(raw).glob("*.raw"))
        return float(output.read_text()), size


def recorded_with_times(command: Sequence[str], directory: Path) -> tuple[float, int]:
    """Run a program with recorded times."""
    return recorded(command, directory, Wanted(times=True))


def recorded_with_sites(command: Sequence[str], directory: Path) -> tuple[float, int]:
    """Run a program with recorded call sites."""
    return recorded(command, directory, Wanted(depth=1))


def recorded_with_stacks(command: Sequence[str], directory: Path) -> tuple[float, int]:
    """Run a program with recorded call paths."""
    return recorded(command, directory, Wanted(depth=DEPTH))


def with_heaptrack(command: Sequence[str], directory: Path) -> tuple[float, int]:
    """Run a program under heaptrack, which records raw data for later interpretation."""
    output = directory / "heaptrack.out"
    heaptrack = ["heaptrack", "--raw", "-o", str(output), *command]
    printed = subprocess.run(
        heaptrack, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    figure = next(line for line in printed.stdout.split(b"\n") if _is_number(line))
    return float(figure), sum(path.stat().st_size for path in directory.glob("heaptrack.out*"))


def _is_number(line: bytes) -> bool:
    return line.strip().replace(b".", b"", 1).isdigit()


if __name__ == "__main__":
    run(main)
