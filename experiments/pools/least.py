"""The minimum pool of a trace and the larger pools that fail, compared with the real code."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from experiments.pools.recordings import open_trace, spell_model, trace_path
from simalloc.heap import Realloc
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay_all
from simalloc.policy import find_policy
from simalloc.trace import EventSource

STEPS: Final = {
    "freertos-heap_1": 1024,
    "tlsf": 0,
    "esp": 0,
    "lvgl": 0,
    "tlsf_bsd": 0,
    "o1heap": 0,
    "threadx-bytepool": 4,
}
"""Step between the tried sizes in bytes, if not 8; 0 means the allocator's grain."""
_BEYOND: Final = 1.3
"""Ratio of the largest tried size to the minimum."""
_NONE: Final = "none up to "


class Least(NamedTuple):
    """A row of `least_pool.csv`."""

    trace: str
    model: str
    """Text of the policy, with a placeholder for its capacity."""
    bytes: int
    """Minimum pool in bytes, or the largest tried pool if none was found."""
    is_found: bool
    failing: frozenset[int]
    """Sizes above the minimum in which a request is refused."""
    step: int


def rows_of(folder: Path) -> Iterator[Least]:
    """Yield the rows of a folder whose traces exist."""
    with (folder / "least_pool.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            trace, _, more = row["trace"].partition("@")
            settings = ",".join(filter(None, [more, row.get("settings", "").replace(";", ",")]))
            tail = ",".join(filter(None, [f"word={row['word']}", settings]))
            failing = row.get("larger_sizes_that_fail") or row.get("failing") or row.get("list")
            model = spell_model(folder.name, f"pool={{}},{tail}")
            step = int(row.get("grain") or STEPS.get(folder.name, 8))
            step = step or _grain(model.format(row["least"]))
            found = frozenset(_sizes(failing or "", step))
            least = row["least"].removeprefix(_NONE)
            if trace_path(folder, trace).exists():
                yield Least(trace, model, int(least), least == row["least"], found, step)


def wrong_sizes(folder: Path, least: Least) -> list[int]:
    """Return the sizes, from just below the minimum on, for which the model's result differs."""
    source = open_trace(folder, least.trace)
    if not least.is_found:
        refused = refuses(source, least.model.format(least.bytes))
        return [] if refused else [least.bytes]
    tried = range(least.bytes - least.step, int(_BEYOND * least.bytes) + 1, least.step)
    return [
        size
        for size in tried
        if refuses(source, least.model.format(size))
        != (size < least.bytes or size in least.failing)
    ]


def refuses(source: EventSource, policy: str) -> bool:
    """Return whether a request of the trace is refused."""
    setting = Setting.of(source, policy, realloc=Realloc.IN_PLACE)
    simulation = setting.simulation()
    replay_all(simulation, setting)
    return bool(simulation.figures()["refused"])


def _grain(policy: str) -> int:
    grain: int = find_policy(policy).description.grain  # type: ignore[attr-defined]
    return grain


def _sizes(text: str, step: int) -> Iterator[int]:
    """Yield the sizes in a text such as `376 392-472`."""
    for part in text.split():
        first, _, last = part.partition("-")
        if first:
            yield from range(int(first), int(last or first) + 1, step)
