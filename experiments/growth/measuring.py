"""Every shipped trace under Johnstone & Wilson's policies with many growth units, stored."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from math import ceil
from pathlib import Path
from typing import Final

from experiments.growth.synthetic import SYNTHETIC, growing_block
from experiments.mallocs import Progress
from experiments.output import write_csv
from experiments.shipped import shipped
from experiments.todays_programs.programs import ROWS
from simalloc.heap import simulate_all
from simalloc.policy import find_policy
from simalloc.report import Table
from simalloc.trace import Trace
from simalloc.trace.catalogue import load

KEPT: Final = Path(__file__).with_name("kept.csv")
"""Results of the replays, written by `python -m experiments.growth --measure`."""

SCALE: Final = 16
"""Factor by which sizes are multiplied, as in the paper."""

UNITS: Final = tuple(SCALE * 4**power for power in range(9))
"""Growth units in scaled bytes, from 16 to 1 MiB: 1 byte of the program to 64 KiB."""

FINE: Final = tuple(SCALE * 2**power for power in range(17))
"""Every power of two in the range of `UNITS`, for the traces of `CLOSELY`."""

CLOSELY: Final = ("perl5", "ginsh", SYNTHETIC)
"""Traces on which best fit depends most on the unit; they are examined in detail."""

POLICIES: Final = tuple(name for name in ROWS if not name.endswith("-8k"))
"""The paper's policies, except its two 8K rows, which are other rows with another unit."""

WITHOUT_TAIL: Final = "best-fit-ao:count_tail=off"
"""Best fit that grows by a whole request, regardless of free memory at the end of the heap."""


@dataclass(frozen=True)
class GrowthRun:
    """Result of a trace under a policy that grows by `unit` scaled bytes.

    `peak_heap`, `peak_live` and `peak_resident` are in bytes of the program. `peak_resident` counts
    written 4 KiB pages.
    """

    trace: str
    policy: str
    unit: int
    peak_heap: float
    peak_live: int
    peak_resident: float

    @property
    def waste(self) -> float:
        """Excess of the peak heap over the peak live bytes, in percent (measure #4)."""
        return 100 * (self.peak_heap / self.peak_live - 1)

    @property
    def resident_waste(self) -> float:
        """Excess of the peak resident bytes over the peak live bytes, in percent."""
        return 100 * (self.peak_resident / self.peak_live - 1)

    @property
    def beyond(self) -> float:
        """Waste minus the waste of the smallest heap of whole units that holds the live bytes.

        The difference is in percentage points of the peak live bytes. Therefore a unit as large as
        the heap costs nothing by itself; for small units, the difference is close to the waste.
        """
        unit = self.unit / SCALE
        smallest = ceil(self.peak_live / unit) * unit
        return self.waste - 100 * (smallest / self.peak_live - 1)


def grown_by(policy: str, unit: int) -> str:
    """Return the policy with growth by `unit`; sizes 3 * 2**N grow by one and a half units."""
    also = f",growth_3x={unit * 3 // 2}" if "growth_3x" in _parameters(policy) else ""
    return f"{policy}{',' if ':' in policy else ':'}growth={unit}{also}"


def _parameters(policy: str) -> set[str]:
    return {part.name for part in fields(find_policy(policy).description)}


def load_trace(name: str) -> Trace:
    """Return a shipped trace, or the synthetic one."""
    return growing_block() if name == SYNTHETIC else load(name)


def measure(name: str, policies: Sequence[str], units: Sequence[int]) -> list[GrowthRun]:
    """Replay the named trace under each policy with each unit, one policy at a time."""
    trace, found = load_trace(name), []
    for policy in policies:
        texts = [grown_by(policy, unit) for unit in units]
        runs = simulate_all(trace, texts, scale=SCALE, resident=True)
        for unit, run in zip(units, runs, strict=True):
            assert run.resident is not None, "it was asked for"
            peaks = run.peak_heap_bytes, run.max_live_bytes, run.resident.peak_bytes
            found.append(GrowthRun(name, policy, unit, *peaks))
    return found


def measure_everything(progress: Progress) -> list[GrowthRun]:
    """Replay every shipped trace under every policy with every unit: about ten minutes."""
    found = []
    names = [*shipped(), SYNTHETIC]
    with progress("growth units", len(names)) as advance:
        for name in names:
            if name in CLOSELY:
                found += measure(name, (*POLICIES, WITHOUT_TAIL), FINE)
            else:
                found += measure(name, POLICIES, UNITS)
            advance(1)
    return found


def keep(outcomes: Iterable[GrowthRun]) -> None:
    """Write the results to `KEPT`."""
    columns = tuple(part.name for part in fields(GrowthRun))
    write_csv(Table("Growth units", columns, [astuple(one) for one in outcomes]), KEPT)


def read_kept() -> list[GrowthRun]:
    """Return the stored results, in the order of the file."""
    with KEPT.open(encoding="utf-8", newline="") as file:
        return [
            GrowthRun(
                row["trace"],
                row["policy"],
                int(row["unit"]),
                float(row["peak_heap"]),
                int(row["peak_live"]),
                float(row["peak_resident"]),
            )
            for row in csv.DictReader(file)
        ]
