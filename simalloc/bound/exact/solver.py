"""OR-tools' CP-SAT in parallel with our own search: `pip install 'simalloc[optimal]'`.

The solver runs in a separate process, `python -m simalloc.bound.exact.solver`. The process reads a
problem as JSON, and writes a line for each placement and for each proven lower bound. Sizes are
divided by their common divisor. Two constraints exclude equivalent placements: twins are placed in
the order of their numbers, and a placement may not be turned upside down.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, NamedTuple

import numpy as np

from simalloc.bound.exact.buffers import Buffers, Ints

FIRST_SHARE: Final = 0.3
"""Share of the time for the first solve, which accepts only the lower bound as the height."""


class Finding(NamedTuple):
    """A placement (int64, bytes) of the solver, or a lower bound (bytes) that it has proven."""

    address: Ints | None
    lower: int | None


def is_installed() -> bool:
    """Return whether OR-tools can be imported and the path of this Python is known."""
    return bool(sys.executable) and find_spec("ortools") is not None


class Solver:
    """The solver's process. Call `close` to end it, also after an exception."""

    def __init__(
        self, buffers: Buffers, lower: int, height: int, target: int | None, seconds: float
    ) -> None:
        problem = {
            "unit": buffers.unit,
            "size": buffers.size.tolist(),
            "alignment": buffers.alignment.tolist(),
            "twins": buffers.twins.tolist(),
            "owner": buffers.owner.tolist(),
            "first": buffers.sections.piece_first.tolist(),
            "last": buffers.sections.piece_last.tolist(),
            "low": buffers.low.tolist(),
            "high": buffers.high.tolist(),
            "lower": lower,
            "height": height,
            "target": target,
            "seconds": seconds,
        }
        self._findings: SimpleQueue[Finding] = SimpleQueue()
        self._process = subprocess.Popen(  # noqa: S603 - runs this module with this Python
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )
        self._thread = Thread(target=self._talk, args=[json.dumps(problem)], daemon=True)
        self._thread.start()

    @property
    def has_findings(self) -> bool:
        """True if `findings` would yield a finding."""
        return not self._findings.empty()

    def findings(self) -> Iterator[Finding]:
        """Yield the findings since the last call."""
        while True:
            try:
                yield self._findings.get_nowait()
            except Empty:
                return

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._thread.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _talk(self, problem: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            with self._process.stdin as stream:
                stream.write(problem)
            for line in self._process.stdout:
                found = json.loads(line)
                address = found.get("address")
                placed = None if address is None else np.array(address, np.int64)
                self._findings.put(Finding(placed, found.get("lower")))
        except (OSError, ValueError):
            return  # the process was ended in the middle of a line


def main() -> None:
    """Solve the problem on standard input."""
    problem = json.load(sys.stdin)
    unit = problem["unit"]
    lower, height = -(-problem["lower"] // unit), problem["height"] // unit
    seconds = problem["seconds"]
    if problem["target"] is not None:
        _solve(problem, lower, problem["target"] // unit, seconds)
        return
    first = FIRST_SHARE * seconds
    if not _solve(problem, lower, lower, first):
        _solve(problem, lower, height - 1, seconds - first)


def _solve(problem: dict[str, Any], lower: int, highest: int, seconds: float) -> bool:
    """Minimise the height between two bounds, in units. Return whether a placement was found."""
    from ortools.sat.python import cp_model  # noqa: PLC0415 - an extra; takes a second

    unit = problem["unit"]
    size = [each // unit for each in problem["size"]]
    model = cp_model.CpModel()
    height = model.new_int_var(lower, highest, "height")
    starts = [
        _start(model, number, highest - size[number], max(problem["alignment"][number] // unit, 1))
        for number in range(len(size))
    ]
    spans = [
        model.new_fixed_size_interval_var(start, length, f"span {number}")
        for number, (start, length) in enumerate(zip(starts, size, strict=True))
    ]
    for start, length in zip(starts, size, strict=True):
        model.add(start + length <= height)
    pieces = [_piece(model, problem, starts, spans, number)
              for number in range(len(problem["owner"]))]  # fmt: skip
    times = [time for time, _, _ in pieces]
    model.add_no_overlap_2d(times, [span for _, span, _ in pieces])
    model.add_cumulative(times, [used for _, _, used in pieces], height)
    _break_symmetry(model, problem, starts, size, height)
    model.minimize(height)

    class _Reporter(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            _report(address=[self.value(start) * unit for start in starts])

    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = max((os.cpu_count() or 1) - 1, 1)
    status = solver.solve(model, _Reporter())
    if status == cp_model.INFEASIBLE:
        _report(lower=(highest + 1) * unit)
    elif status in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        _report(lower=round(solver.best_objective_bound) * unit)
    return bool(status in {cp_model.OPTIMAL, cp_model.FEASIBLE})


def _start(model: Any, number: int, highest: int, alignment: int) -> Any:
    """Return the address of a buffer, in units, as a multiple of its alignment."""
    if alignment == 1:
        return model.new_int_var(0, highest, f"start {number}")
    return alignment * model.new_int_var(0, highest // alignment, f"start {number}")


def _piece(
    model: Any, problem: dict[str, Any], starts: list[Any], spans: list[Any], number: int
) -> tuple[Any, Any, int]:
    """Return the time interval of a piece, its addresses, and the bytes that it uses, in units."""
    unit, owner, first = problem["unit"], problem["owner"][number], problem["first"][number]
    low, high = problem["low"][number], problem["high"][number]
    length = problem["last"][number] - first
    time = model.new_fixed_size_interval_var(first, length, f"time {number}")
    used = (high - low) // unit
    if high - low == problem["size"][owner]:
        return time, spans[owner], used
    start = starts[owner] + low // unit
    return time, model.new_fixed_size_interval_var(start, used, f"piece {number}"), used


def _break_symmetry(
    model: Any, problem: dict[str, Any], starts: list[Any], size: list[int], height: Any
) -> None:
    """Order twins by their numbers; put the largest buffer into the lower half where possible.

    A placement can be turned upside down only without alignments and without pieces of buffers.
    """
    before: dict[int, int] = {}
    for number, twin in enumerate(problem["twins"]):
        if twin in before:
            model.add(starts[before[twin]] + size[number] <= starts[number])
        before[twin] = number
    sizes = problem["size"]
    free = all(one % problem["unit"] == 0 and problem["unit"] % alignment == 0
               for one, alignment in zip(sizes, problem["alignment"], strict=True))  # fmt: skip
    free = free and all(
        high - low == sizes[owner]
        for owner, low, high in zip(problem["owner"], problem["low"], problem["high"], strict=True)
    )
    largest = max(range(len(size)), key=size.__getitem__)
    if free and problem["twins"].count(problem["twins"][largest]) == 1:
        model.add(2 * starts[largest] + size[largest] <= height)


def _report(**found: object) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
