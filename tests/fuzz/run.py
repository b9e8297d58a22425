"""Fuzz the readers at length: `python tests/fuzz/run.py --inputs 1000000 gabber rep ...`.

Each format is read in its own process. It may use 2 GB of addresses, 256 MB of resident memory and
ten seconds per input. Under the sanitizers, addresses are not limited, and both other limits are
four times as high. Inputs are read strictly and leniently in turn, and every eighth in both ways.

Input N of a format is always the same, so that `--first N --inputs 1` reproduces a fault.
Exceptions are memray and the inputs of heap_inputs.py, whose samples differ in each process.
Memray's current input is kept in the file `memray-N`; heap_inputs.py keeps core files and
snapshots.
"""

import argparse
import ctypes
import gc
import math
import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # `python -P` omits this folder
sys.path.insert(0, str(Path(__file__).parents[1]))

import file_inputs
import heap_inputs
import inputs
import memray_inputs
import results_inputs
import settings_inputs

SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
MEMORY = resource.RLIM_INFINITY if SANITIZED else 2 << 30
RESIDENT = (1024 if SANITIZED else 256) << 10  # kilobytes
SECONDS = 40 if SANITIZED else 10
THOROUGH = 8
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # parameters of mallopt
KEPT = 32 << 20


CHECKS = settings_inputs.CHECKS | file_inputs.CHECKS | heap_inputs.CHECKS | results_inputs.CHECKS
NAMES = [*inputs.IMPORTS, *CHECKS]
"""Names of inputs for fuzzing. memray's own code does not run under the sanitizers."""
if SANITIZED:
    NAMES.remove("memray")


def work(name, first, count, number, peak, until):
    """Check inputs one after another; `number` is the number of the current input."""
    keep_freed_memory()
    gc.freeze()
    with memray_inputs.served() if name == "memray" else nullcontext() as server:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for each in range(first, first + count):
            number.value = each
            if time.monotonic() > until:
                break
            signal.alarm(SECONDS)
            try:
                check(name, each)
                resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                peak.value = max(resident, server.peak if server else 0)
                assert peak.value < RESIDENT, "the input takes memory out of proportion"
            except BaseException:  # noqa: BLE001 - any exception is a finding
                traceback.print_exc()
                if server:
                    Path(f"memray-{each}").write_bytes(server.file)
                sys.exit(1)


def check(name, number):
    """Check one input of a format, of simalloc's own files, or of files that users write."""
    if name in CHECKS:
        CHECKS[name](number)
    else:
        inputs.check(name, number, thorough=number % THOROUGH == 0)


def keep_freed_memory():
    """Let malloc keep freed memory, because otherwise mapping buffers takes half the time."""
    for parameter in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD):
        ctypes.CDLL(None).mallopt(parameter, KEPT)


def fuzz(name, first, count, seconds=math.inf):
    """Fuzz one format, for at most `seconds`, and return whether no fault was found."""
    number, peak = multiprocessing.RawValue("q", first), multiprocessing.RawValue("q", 0)
    started = time.monotonic()
    process = multiprocessing.Process(
        target=work, args=(name, first, count, number, peak, started + seconds)
    )
    process.start()
    process.join()
    seconds = time.monotonic() - started
    good = process.exitcode == 0
    ended = "all well" if good else f"input {number.value} ended it (exit code {process.exitcode})"
    megabytes = peak.value // 1024
    done = number.value - first + good
    line = f"{name}: {done:,} inputs, {ended}, {seconds:.0f} s, {megabytes} MB\n"
    sys.stdout.write(line)
    sys.stdout.flush()
    return good


def main():
    """Fuzz the named formats, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("formats", nargs="*", metavar="FORMAT")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most, for each format")
    args = parser.parse_args()
    names = args.formats or NAMES
    results = [fuzz(name, args.first, args.inputs, args.seconds) for name in names]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
