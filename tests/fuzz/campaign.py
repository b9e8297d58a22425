"""Look for faults for some minutes: `make fuzz MINUTES=N`.

A third of the time each is spent on

1. the property tests of both engines, the bounds and the pools, with fresh Hypothesis examples;
2. random traces through this system's malloc and through its model, address by address;
3. the readers, with fresh inputs: every format of logs, trace files, raw recordings, core files,
   snapshots, statistics of allocators, files of results, plans in TOML, and patterns. `make fuzz`
   runs them under the address and undefined-behaviour sanitizers, except memray, whose own code
   does not run there.

Every seed and every count is printed. A shrunk trace of part 2 is written to
tests/data/fuzz/addresses, where tests/fuzz/test_corpus.py replays it. The exit code is 1 if a fault
was found.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import SystemRandom

import real_addresses
import run

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "data" / "fuzz"
EXAMPLES = 40
"""Number of examples of each property in one round."""
SEEDS = 1 << 32


def say(text):
    """Write a line and flush it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def properties(until):
    """Run the property tests in rounds of fresh examples; return whether all rounds passed."""
    files = sorted((ROOT / "tests" / "property").glob("test_*.py"))
    rounds, good = 0, True
    while time.monotonic() < until:
        seed = SystemRandom().randrange(SEEDS)
        file = files[rounds % len(files)] if rounds else files[0].with_name("test_engines_agree.py")
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"),
            *("--hypothesis-profile=anew", f"--hypothesis-seed={seed}", file),
        ]
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=os.environ | {"SIMALLOC_EXAMPLES": str(EXAMPLES)},
                capture_output=True,
                text=True,
                timeout=max(until - time.monotonic(), 1),
                check=False,
            )
        except subprocess.TimeoutExpired:
            say(f"properties: {file.name}, seed {seed}: out of time")
            break
        rounds += 1
        counts = done.stdout.strip().splitlines()[-1:] or ["no output"]
        say(f"properties: {file.name}, seed {seed}, {EXAMPLES} examples each: {counts[0]}")
        if done.returncode:
            good = False
            say(done.stdout[-4000:])
    return good


def real_mallocs(until):
    """Compare addresses of random traces with the real malloc; return whether all are equal."""
    model = real_addresses.model()
    if model is None:
        say("addresses: skipped, no model of this system's C library")
        return True
    first = seed = SystemRandom().randrange(SEEDS)
    with tempfile.TemporaryDirectory() as folder:
        program = real_addresses.build(folder)
        while time.monotonic() < until:
            events = real_addresses.drawn(seed)
            if real_addresses.first_difference(program, model, events):
                found = real_addresses.shrunk(program, model, events)
                path = CORPUS / "addresses" / f"{seed}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(real_addresses.text_of(found))
                say(f"addresses: seed {seed} differs from {model}; shrunk to {path}")
                return False
            seed += 1
    say(f"addresses: {seed - first:,} traces equal {model}, seeds {first} to {seed - 1}")
    return True


def readers(until, python):
    """Fuzz every reader for an equal time with a Python; return whether no reader failed."""
    names = [name for name in run.NAMES if name != "memray" or find_spec("memray")]
    if len(names) < len(run.NAMES):
        say("readers: memray skipped, it is not installed")
    good = True
    for place, name in enumerate(names):
        first = SystemRandom().randrange(SEEDS)
        seconds = max((until - time.monotonic()) / (len(names) - place), 0.5)
        say(f"readers: {name} from input {first}")
        numbers = ("--first", str(first), "--inputs", str(SEEDS), "--seconds", str(seconds))
        command = [sys.executable] if name == "memray" else python
        done = subprocess.run(
            [*command, str(Path(run.__file__)), *numbers, name],
            check=False,
        )
        good &= done.returncode == 0
    return good


def main():
    """Divide the minutes among the three parts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("minutes", type=float)
    parser.add_argument(
        "--readers-by", default=sys.executable, help="the Python that runs the readers"
    )
    arguments = parser.parse_args()
    python = shlex.split(arguments.readers_by)
    share = arguments.minutes * 60 / 3
    parts = (real_mallocs, partial(readers, python=python), properties)
    results = [part(time.monotonic() + share) for part in parts]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
