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
    lines = [BEFORE, ADVISED]
    found = in_short.facts(lines)
    assert (found["servers_runs"], found["servers_advised"]) == (3, 1)
    assert (found["servers_lines"], found["servers_near"], found["servers_far"]) == (2, 2, "")
    assert found["servers_failures"] == ""
    assert found["servers_requests"] == "0 of the 6,000 requests in all runs failed."
    assert in_short.advised_table(lines).rows == [
        (
            *("s", "glibc", "glibc:arena_max=1"),
            *("10.00 (10.00 to 11.00)", "8.00 (7.00 to 8.00)"),
            *("1.10 (1.00 to 1.20)", "1.10 (1.00 to 1.30)"),
        )
    ]


def test_failures_are_named():
    broken = replace(ADVISED, runs=[replace(run, failed=2) for run in ADVISED.runs])
    assert in_short.facts([BEFORE, broken])["servers_requests"].startswith("6 of the ")
    wrong = replace(ADVISED, predictions=[9 * MIB])
    assert in_short.facts([BEFORE, wrong])["servers_far"] == "s under glibc:arena_max=1 (+12.5 %)"
    larger = replace(ADVISED, runs=runs((8 * MIB, 1.0), (10 * MIB, 1.0), (7 * MIB, 1.0)))
    assert "s held as much memory in one run as without it." in failures(larger)
    slower = replace(ADVISED, runs=runs(*[(8 * MIB, 1.3)] * 3))
    assert "s took more CPU time in every run." in failures(slower)


@pytest.mark.parametrize("line", kept_lines(), ids=lambda line: f"{line.server} {line.malloc}")
def test_each_kept_line_has_three_runs(line):
    assert len(line.runs) >= 3
