"""The sentences of docs/advice.md about servers, each with its number of runs and its range."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from experiments.advice.servers.measuring import Line
from experiments.output import listed

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
    advised = [(line, current(line, lines)) for line in lines if line.is_advised]
    return {
        "servers_count": len({line.server for line in lines}),
        "servers_runs": len(lines[0].runs),
        "servers_requests": _requests(lines),
        "servers_medians": ", ".join(
            f"{malloc} {median(each):.1f} % ({min(each):.1f} to {max(each):.1f})"
            for malloc, each in by_malloc.items()
        ),
        "servers_advised": " ".join(_came_out(*pair) for pair in advised)
        or "No change was recommended for any of them.",
        "servers_failures": " ".join([_far(lines), *map(_claims, advised)]).strip(),
    }


def _requests(lines: Sequence[Line]) -> str:
    """State the number of requests of all runs, and of those that failed."""
    requests = sum(run.requests for line in lines for run in line.runs)
    failed = sum(line.failed for line in lines)
    return f"Of {requests:,} requests in all runs {failed or 'none'} failed."


def current(line: Line, lines: Iterable[Line]) -> Line:
    """Return the line of the malloc that a server uses."""
    return next(each for each in lines if each.server == line.server and each.is_current)


def _far(lines: Sequence[Line]) -> str:
    """Name the predictions that are not near."""
    far = [line for line in lines if abs(missed(line)) > NEAR]
    named = [f"{line.server} under {_name(line)} ({100 * missed(line):+.1f} %)" for line in far]
    which = f": {listed(named)}" if named else ""
    return f"Of {len(lines)} predictions {len(far)} differ by more than {100 * NEAR:.0f} %{which}."


def _claims(pair: tuple[Line, Line]) -> str:
    """State what an advised line did not do: save memory in every run, at no cost in CPU time."""
    advised, before = pair
    said = []
    if max(_heaps(advised)) >= min(_heaps(before)):
        said.append("held as much in one run as before")
    if min(_seconds(advised)) > max(_seconds(before)):
        said.append("took more CPU time in every run")
    return f"{advised.server} with the advised line {' and '.join(said)}." if said else ""


def _came_out(advised: Line, before: Line) -> str:
    """Return a sentence on the saving and the cost of an advised line."""
    return (
        f"{advised.server}: {_name(advised)} held {_mib(advised)}, and {_name(before)} "
        f"{_mib(before)}; CPU time was {_cpu(advised)} and {_cpu(before)}."
    )


def _name(line: Line) -> str:
    return line.malloc if line.settings == "default" else f"{line.malloc}:{line.settings}"


def _heaps(line: Line) -> list[int]:
    return [run.heap for run in line.runs]


def _seconds(line: Line) -> list[float]:
    return [run.cpu for run in line.runs]


def _mib(line: Line) -> str:
    low, held, high = (size / (1 << 20) for size in (min(_heaps(line)), line.held,
                                                      max(_heaps(line))))  # fmt: skip
    return f"{held:.2f} MiB ({low:.2f} to {high:.2f})"


def _cpu(line: Line) -> str:
    return f"{line.cpu:.2f} s ({min(_seconds(line)):.2f} to {max(_seconds(line)):.2f})"
