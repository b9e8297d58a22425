"""Summary of the servers on docs/advice.md: sentences, and a table of the advised settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from experiments.advice.servers.measuring import Line
from experiments.output import listed
from simalloc.report import Table

NEAR: Final = 0.05


def missed(line: Line) -> float:
    """Return the relative error of the median prediction."""
    return line.predicted / line.held - 1


def facts(lines: Sequence[Line]) -> dict[str, str | int]:
    """Return the errors of predictions for servers, by malloc, and the effects of the advice."""
    defaults = [line for line in lines if line.settings == "default"]
    by_malloc = {
        malloc: [100 * abs(missed(line)) for line in defaults if line.malloc == malloc]
        for malloc in dict.fromkeys(line.malloc for line in defaults)
    }
    far = [line for line in lines if not is_near(line)]
    return {
        "servers_count": len({line.server for line in lines}),
        "servers_runs": len(lines[0].runs),
        "servers_requests": _requests(lines),
        "servers_lines": len(lines),
        "servers_near": len(lines) - len(far),
        "servers_far": listed(
            [f"{line.server} under {_name(line)} ({100 * missed(line):+.1f} %)" for line in far]
        ),
        "servers_medians": listed(
            [
                f"{median(each):.1f} % ({min(each):.1f} to {max(each):.1f}) under {malloc}"
                for malloc, each in by_malloc.items()
            ]
        ),
        "servers_apart": _apart(far),
        "servers_advised": len(_pairs(lines)),
        "servers_failures": " ".join(filter(None, map(_claims, _pairs(lines)))),
    }


def advised_table(lines: Sequence[Line]) -> Table:
    """Return the heap and the CPU time of servers: medians, with minimum and maximum."""
    return Table(
        f"Servers before and after the change, medians of {len(lines[0].runs)} runs (range)",
        ("server", "before", "after", "MiB before", "MiB after", "CPU s before", "CPU s after"),
        [
            (after.server, _name(before), _name(after), *map(_mib, pair), *map(_cpu, pair))
            for after, before in _pairs(lines)
            for pair in [(before, after)]
        ],
    )


def is_near(line: Line) -> bool:
    """Return whether the median prediction is near the measured median."""
    return abs(missed(line)) <= NEAR


def _apart(far: Sequence[Line]) -> str:
    """State for which differences the ranges of predictions and of measurements do not overlap."""
    apart = [
        f"{line.server} under {_name(line)}"
        for line in far
        if max(line.predictions) < min(_heaps(line)) or max(_heaps(line)) < min(line.predictions)
    ]
    return (
        f"Of the {len(far)} differences of more than 5 %, {len(far) - len(apart)} are within "
        "run-to-run variation, because the range of the predictions overlaps the range of the "
        f"measurements. The ranges do not overlap for {listed(apart)}."
    )


def _requests(lines: Sequence[Line]) -> str:
    """State the number of requests of all runs, and the number of failed requests."""
    requests = sum(run.requests for line in lines for run in line.runs)
    failed = sum(line.failed for line in lines)
    return f"{failed:,} of the {requests:,} requests in all runs failed."


def current(line: Line, lines: Iterable[Line]) -> Line:
    """Return the line of the malloc that a server uses."""
    return next(each for each in lines if each.server == line.server and each.is_current)


def _pairs(lines: Sequence[Line]) -> list[tuple[Line, Line]]:
    """Return each advised line, with the line of the malloc that its server uses."""
    return [(line, current(line, lines)) for line in lines if line.is_advised]


def _claims(pair: tuple[Line, Line]) -> str:
    """State an advised setting's failures to save memory in every run or to cost no CPU time."""
    advised, before = pair
    said = []
    if max(_heaps(advised)) >= min(_heaps(before)):
        said.append("held as much memory in one run as without it")
    if min(_seconds(advised)) > max(_seconds(before)):
        said.append("took more CPU time in every run")
    return f"With the recommended change, {advised.server} {' and '.join(said)}." if said else ""


def _name(line: Line) -> str:
    return line.malloc if line.settings == "default" else f"{line.malloc}:{line.settings}"


def _heaps(line: Line) -> list[int]:
    return [run.heap for run in line.runs]


def _seconds(line: Line) -> list[float]:
    return [run.cpu for run in line.runs]


def _mib(line: Line) -> str:
    low, held, high = (size / (1 << 20) for size in (min(_heaps(line)), line.held,
                                                      max(_heaps(line))))  # fmt: skip
    return f"{held:.2f} ({low:.2f} to {high:.2f})"


def _cpu(line: Line) -> str:
    return f"{line.cpu:.2f} ({min(_seconds(line)):.2f} to {max(_seconds(line)):.2f})"
