"""Resident pages of objects from gigabytes to petabytes: exact, and with little memory."""

import random
import subprocess
import sys

import pytest

from simalloc.heap import simulate
from simalloc.trace import Trace

GIB = 1 << 30
SIZES = [100, 5000, 1 << 20, GIB - 4096, GIB, GIB + 12288, 3 * GIB + 1, 5 * GIB, 1 << 40]
MALLOCS = ["ptmalloc", "jemalloc", "tcmalloc", "mimalloc", "scudo", "musl"]
POLICIES = [*MALLOCS, "jemalloc:dirty_decay_ms=0", "first-fit-ao", "lea-2.6.6:trim=64K"]
IN_ONE_GIBIBYTE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from simalloc.heap import simulate
from simalloc.trace import Trace
trace = Trace.from_events([0] * 1024, range(1024), [1 << 40] * 1024)
run = simulate(trace, sys.argv[1], resident=True, scale=1)
print(int(run.resident.peak_bytes))
"""


def random_trace(seed):
    """Return a trace of small and huge objects, which are freed and resized."""
    dice = random.Random(seed)
    op, key, size, live, objects = [], [], [], [], 0
    for _ in range(120):
        kind = dice.choice((0, 0, 1, 2)) if live else 0
        op.append(kind)
        size.append(0 if kind == 1 else dice.choice(SIZES))
        if kind == 0:
            live.append(objects)
            key.append(objects)
            objects += 1
        else:
            place = dice.randrange(len(live))
            key.append(live.pop(place) if kind == 1 else live[place])
    return Trace.from_events(op, key, size, time=range(0, 120 * 10**8, 10**8))


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("scale", [1, 16])
def test_engines_agree_on_resident_pages_of_gigabytes(name, scale):
    for seed in range(4):
        trace = random_trace(seed)
        core, reference = (
            simulate(trace, name, engine=engine, resident=True, scale=scale)
            for engine in ("core", "reference")
        )
        for field in ("peak_bytes", "peak_event", "bytes_at_max_live", "final_bytes"):
            assert getattr(core.resident, field) == getattr(reference.resident, field), seed
        assert core.resident.mean_bytes == pytest.approx(reference.resident.mean_bytes)


@pytest.mark.parametrize("name", MALLOCS)
def test_a_pebibyte_takes_less_than_one_gibibyte(name):
    command = [sys.executable, "-c", IN_ONE_GIBIBYTE, name]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert 1 << 50 <= int(done.stdout) < (1 << 50) * 1.01
