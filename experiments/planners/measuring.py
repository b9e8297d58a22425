"""Measures planners and the lowest placements, and stores the figures in a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from experiments.planners.packings import packing
from simalloc.bound import Effort, Placement, Timetable, best_possible, verify
from simalloc.bound.placement import NEAR
from simalloc.bound.planners import RULES, planned
from simalloc.files import replacing
from simalloc.trace.formats.importing import load_log

DENSE: Final = "ABCDEFGHIJK"
"""The challenging instances of MiniMalloc, each named by a letter."""

INSTANCES: Final = (
    *(f"minimalloc/{name}.1048576.csv" for name in DENSE),
    *(
        f"idealloc/{name}"
        for name in ("G_1.csv", "resnet50.csv", "pangu_2.6B.csv.zst", "S_1.csv.zst", "Y_1.csv.zst")
    ),
)
"""The instances of traces/planning."""

PACKINGS: Final = ((100, 20), (300, 10))
"""Numbers of buffers, each with a number of perfect packings of that size; seeds start at 1."""

STEPS: Final = len(INSTANCES) + sum(count for _, count in PACKINGS)
"""Number of placements that a measurement searches for."""

EFFORT: Final = Effort(seconds=60.0)
FOLDER: Final = Path(__file__).parents[2] / "traces" / "planning"
KEPT: Final = Path(__file__).with_name("kept.json")

Advance = Callable[[str], None]


@dataclass(frozen=True)
class Found:
    """The lowest placement found: its bytes and status, and the seconds of the search."""

    buffers: int
    peak: int
    lower: int
    heap: int
    status: str
    seconds: float

    @classmethod
    def of(cls, placement: Placement) -> Found:
        """Return the figures of a placement."""
        return cls(
            len(placement.table),
            placement.bound,
            placement.lower_bound,
            placement.height,
            placement.status,
            round(placement.seconds, 2),
        )


@dataclass(frozen=True)
class Instance:
    """An instance: the placement that the search found (`best`), and the bytes of each planner."""

    name: str
    best: Found
    planners: dict[str, int]

    @property
    def lowest(self) -> Found:
        """The lowest placement found, by the search or by a planner."""
        heap = min(self.best.heap, *self.planners.values())
        if heap == self.best.heap:
            return self.best
        above = heap / self.best.lower - 1
        status = "optimal" if above == 0 else "bounded" if above <= NEAR else "unproven"
        return replace(self.best, heap=heap, status=status)

    def above(self, planner: str) -> float:
        """Return the excess of a planner's heap over the lowest placement found, in percent."""
        return 100 * (self.planners[planner] / self.lowest.heap - 1)


@dataclass(frozen=True)
class Measured:
    """All measurements: the instances, and the perfect packings."""

    instances: list[Instance]
    packings: list[Found]


def heights(table: Timetable) -> dict[str, int]:
    """Return the bytes that each planner needs, by its rule; every placement is verified."""
    return {rule: int(verify(table, planned(table, rule)).heap.max()) for rule in RULES}


def measure_instance(file: str) -> Instance:
    """Measure one instance of traces/planning."""
    table = Timetable.of(load_log(FOLDER / file), aligned=True)
    name = Path(file).name.split(".csv")[0].removesuffix(".1048576")
    return Instance(name, Found.of(best_possible(table, effort=EFFORT)), heights(table))


def measure(advance: Advance) -> Measured:
    """Measure all instances and packings, and store the figures."""
    instances = []
    for file in INSTANCES:
        advance(file)
        instances.append(measure_instance(file))
    packings = []
    for buffers, count in PACKINGS:
        for seed in range(1, count + 1):
            advance(f"packing {seed} of {buffers} buffers")
            packings.append(Found.of(best_possible(packing(buffers, seed), effort=EFFORT)))
    found = Measured(instances, packings)
    with replacing(KEPT) as stream:
        stream.write(f"{json.dumps(asdict(found), indent=1)}\n".encode())
    return found


def kept() -> Measured:
    """Return the stored figures."""
    found = json.loads(KEPT.read_text("utf-8"))
    return Measured(
        [
            Instance(one["name"], Found(**one["best"]), one["planners"])
            for one in found["instances"]
        ],
        [Found(**one) for one in found["packings"]],
    )
