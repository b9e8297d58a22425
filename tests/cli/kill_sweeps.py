"""Kills real sweeps at random moments and examines the results.

Run it by hand with the number of kills: `python tests/cli/kill_sweeps.py 200`.
"""

import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from simalloc.errors import SimallocError
from simalloc.sweep import Results, carry_out_plan, read_plan
from simalloc.trace import Trace, write_trace

PLAN = """
traces = ["*.npz"]
keep = ["timelines"]
[policies."*-fit-*"]
growth = ["8K", "16K", "32K", "64K", "128K"]
"""

# A sweep in a separate process, which reports each run when the run is safely stored.
SWEEP = """
import sys
from simalloc.sweep import Observer, carry_out_plan, read_plan

class Says(Observer):
    def finished(self, outcome):
        print(*outcome.key, sep="\\t", flush=True)

print("begun", flush=True)
carry_out_plan(read_plan(sys.argv[1]), sys.argv[2], jobs=2, observer=Says())
"""

CIRCUMSTANCES = {"id", "finished", "seconds", "host"}
LONGEST = 0.6


def made_trace(seed, events):
    """Return a trace that frees each object at once."""
    op = np.arange(events) % 2
    objects = np.repeat(np.arange(events // 2), 2)
    sizes = np.random.default_rng(seed).integers(1, 5000, events)
    return Trace.from_events(op, objects, sizes, name=f"t{seed}")


def make_plan(folder):
    """Write traces of 500 to 30,000 events and a plan of at least 100 runs on them."""
    for number, events in enumerate((500, 2000, 8000, 30_000)):
        write_trace(made_trace(number, events), folder / f"{number}.npz")
    path = folder / "plan.toml"
    path.write_text(PLAN)
    return path


def has_runs(path):
    """Return whether a file of results exists and contains runs."""
    with suppress(SimallocError):
        return len(Results.read(path)) > 0
    return False


def figures(rows):
    """Return the figures that must agree by key, after checking that no key occurs twice."""
    found = {}
    for row in rows:
        key = tuple(
            str(row[name]) for name in ("trace_sha256", "policy", "scale", "realloc", "code")
        )
        assert key not in found, f"{key} is there twice"
        found[key] = {name: row[name] for name in row if name not in CIRCUMSTANCES}
    return found


def check_file(path, expected, said, before):
    """Check that the file is complete and contains only correct rows; return their keys."""
    if not path.exists() or not path.stat().st_size:
        assert not said
        return set()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        kept = connection.execute("SELECT count(*) FROM timeline").fetchone()
        laid_out = connection.execute("PRAGMA application_id").fetchone()[0]
    assert laid_out
    found = figures(Results.read(path))
    assert kept[0] == len(found)
    assert found.items() <= expected.items()
    assert said <= found.keys(), "a run that was finished is lost"
    assert before <= found.keys(), "a run that was there is gone"
    return set(found)


def kill_sweeps(folder, kills, seed=0):
    """Kill `kills` sweeps, one or two at a time, starting again when a sweep completes.

    Returns the number of kills that met a running sweep, and the number of completed sweeps.
    """
    draw = random.Random(seed)
    plan = make_plan(folder)
    carry_out_plan(read_plan(plan), folder / "expected.sqlite")
    expected = figures(Results.read(folder / "expected.sqlite"))
    path, said, before, met, completed = folder / "killed.sqlite", set(), set(), 0, 0
    for _ in range(kills):
        command = [sys.executable, "-c", SWEEP, plan, path]
        sweeps = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            for _ in range(draw.choice((1, 1, 2)))
        ]
        assert sweeps[0].stdout.readline() == "begun\n"
        time.sleep(draw.uniform(0, LONGEST))
        for sweep in sweeps:
            met += sweep.poll() is None
            sweep.send_signal(signal.SIGKILL)
        for sweep in sweeps:
            text, _ = sweep.communicate()
            lines = [line for line in text.splitlines(keepends=True) if line.endswith("\n")]
            said |= {tuple(line[:-1].split("\t")) for line in lines if line != "begun\n"}
        before = check_file(path, expected, said, before)
        if len(before) == len(expected):
            completed += 1
            path.unlink()
            said, before = set(), set()
    carry_out_plan(read_plan(plan), path)
    assert figures(Results.read(path)) == expected
    return met, completed


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        started = time.monotonic()
        under_way, whole = kill_sweeps(Path(made), int(sys.argv[1]))
        sys.stdout.write(
            f"{sys.argv[1]} times, {under_way} sweeps under way killed, {whole} sweeps completed, "
            f"nothing lost, nothing twice, in {time.monotonic() - started:.0f} s\n"
        )
