"""The sentences about servers state the number of runs, the ranges and the failures."""

from dataclasses import replace

import pytest

from experiments.advice.servers import in_short
from experiments.advice.servers.kept import kept_lines
from experiments.advice.servers.measuring import Line, Measured

MIB = 1 << 20


def runs(*pairs):
    return [Measured(heap, cpu, 1000, 0, 1.0) for heap, cpu in pairs]


CURRENT = {"is_current": True, "is_advised": False}
NEW = {"is_current": False, "is_advised": True}
BEFORE = Line(
    *("s", "glibc", "default"),
    **CURRENT,
    predictions=[10 * MIB],
    cost=0.0,
    runs=runs((11 * MIB, 1.0), (10 * MIB, 1.2), (10 * MIB, 1.1)),
)
ADVISED = Line(
    *("s", "glibc", "arena_max=1"),
    **NEW,
    predictions=[8 * MIB],
    cost=0.0,
    runs=runs((8 * MIB, 1.0), (8 * MIB, 1.3), (7 * MIB, 1.1)),
)


def failures(advised):
    return in_short.facts([BEFORE, advised])["servers_failures"]


def test_what_was_advised_has_its_range():
    found = in_short.facts([BEFORE, ADVISED])
    assert found["servers_runs"] == 3
    assert found["servers_advised"] == (
        "s: glibc:arena_max=1 held 8.00 MiB (7.00 to 8.00), and glibc 10.00 MiB (10.00 to 11.00); "
        "CPU time was 1.10 s (1.00 to 1.30) and 1.10 s (1.00 to 1.20)."
    )
    assert found["servers_failures"] == "Of 2 predictions 0 differ by more than 5 %."
    assert found["servers_requests"] == "Of 6,000 requests in all runs none failed."


def test_failures_are_named():
    broken = replace(ADVISED, runs=[replace(run, failed=2) for run in ADVISED.runs])
    assert in_short.facts([BEFORE, broken])["servers_requests"].endswith(" 6 failed.")
    wrong = replace(ADVISED, predictions=[9 * MIB])
    assert "1 differ by more than 5 %: s under glibc:arena_max=1 (+12.5 %)." in failures(wrong)
    larger = replace(ADVISED, runs=runs((8 * MIB, 1.0), (10 * MIB, 1.0), (7 * MIB, 1.0)))
    assert "s with the advised line held as much in one run as before." in failures(larger)
    slower = replace(ADVISED, runs=runs(*[(8 * MIB, 1.3)] * 3))
    assert "s with the advised line took more CPU time in every run." in failures(slower)


@pytest.mark.parametrize("line", kept_lines(), ids=lambda line: f"{line.server} {line.malloc}")
def test_each_kept_line_has_three_runs(line):
    assert len(line.runs) >= 3
