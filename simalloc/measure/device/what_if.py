"""A program's requests under several settings of PyTorch's allocator."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from simalloc.heap import figures_in_core
from simalloc.machine import core_count
from simalloc.measure.device.smallest import STEP, smallest_device, up
from simalloc.policy.device import UNLIMITED, NoCache, PyTorch
from simalloc.policy.device.alloc_conf import parse_settings
from simalloc.shown import ShownAsTable
from simalloc.trace._native import live_bytes
from simalloc.trace.events import allocates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simalloc.heap import DeviceFigures
    from simalloc.trace import Trace

SETTINGS: Final = (
    "",
    "expandable_segments:True",
    "max_split_size_mb:64",
    "max_split_size_mb:128",
    "max_split_size_mb:512",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:8",
    "expandable_segments:True,roundup_power2_divisions:8",
)
"""The settings that people try; the first are PyTorch's own."""

_FRACTION: Final = "per_process_memory_fraction"


@dataclass(frozen=True)
class Outcome:
    """What a program needs under some settings, in bytes.

    `figures` are those of a device without end, at whose peak the reserved bytes are divided up:
    requested, rounding, free in segments in use (split), and free in segments not in use (whole; of
    expandable segments, all that is mapped and free). `smallest` is the least capacity without an
    out-of-memory, of which `there` are the figures; and `at` has those of each capacity asked for.
    """

    settings: str
    figures: DeviceFigures
    smallest: int
    there: DeviceFigures
    at: dict[int, DeviceFigures] = field(default_factory=dict)

    @property
    def rounding(self) -> int:
        """What sizes were rounded up by, and rests that were not split off."""
        return self.figures.active_bytes_at_peak - self.figures.requested_bytes_at_peak

    @property
    def split_free(self) -> int:
        """Free bytes in segments in use, which cannot go back."""
        return self.figures.inactive_split_bytes_at_peak

    @property
    def whole_free(self) -> int:
        """All other free bytes."""
        figures = self.figures
        return figures.peak_reserved_bytes - figures.active_bytes_at_peak - self.split_free

    def fits(self, capacity: int) -> bool:
        """Whether the program runs to its end on a device of this capacity."""
        return not self.at[capacity].first_oom_event


@dataclass(frozen=True)
class WhatIf(ShownAsTable):
    """What a program needed, what it would have needed, and what it could not do without.

    `recorded` has what the real allocator did, where the trace tells (`docs/device-memory.md`), and
    `model` has the figures under the same settings on an empty device, which has as many bytes as
    the real one had when memory was out, where that is known, and else no end.
    """

    trace: str
    events: int
    settings: str
    recorded: dict[str, int] | None
    model: DeviceFigures
    outcomes: tuple[Outcome, ...]
    live: int
    """Bytes live at once at most: no allocator needs less."""
    live_rounded: int
    """The same with each size rounded up to 512 bytes."""
    no_cache: int
    """The same with each rounded up to 2 MiB: every request a call to the device."""
    capacities: tuple[int, ...] = ()
    searched: int = 0
    """How many settings a search tried besides; what it found comes last."""

    @property
    def best(self) -> Outcome:
        """The outcome with the smallest device; the first of several."""
        return min(self.outcomes, key=lambda outcome: outcome.smallest)


def what_if(
    trace: Trace,
    settings: Sequence[str] | None = None,
    capacities: Sequence[int] = (),
    *,
    progress: Callable[[int], None] | None = None,
) -> WhatIf:
    """Replay a trace under several settings, each the text of PYTORCH_ALLOC_CONF.

    Those that the trace was recorded with come first. For each the smallest device is found, and
    the program is run on devices of the `capacities` (bytes). `progress` is called with 1 as each
    is done. Raises `PolicyError` for settings that PyTorch would not take.
    """
    told = trace.provenance.get("device")
    told = told if isinstance(told, dict) else {}
    own = _modelled(str(told.get("settings", "")))
    tried = list(dict.fromkeys([own, *(SETTINGS if settings is None else settings)]))
    for text in tried:
        described(text)  # complains before any work is done

    def outcome(text: str) -> Outcome:
        found = outcome_of(trace, text, capacities)
        if progress is not None:
            progress(1)
        return found

    with ThreadPoolExecutor(min(core_count(), len(tried))) as pool:
        outcomes = tuple(pool.map(outcome, tried))
    recorded = told.get("recorded")
    recorded = recorded if isinstance(recorded, dict) else {}
    bytes_ = recorded.get("device_bytes")
    model = outcomes[0].figures
    if isinstance(bytes_, int) and STEP <= bytes_ <= UNLIMITED:
        model = figures_in_core(trace, described(own, bytes_))
    return WhatIf(
        trace=trace.name,
        events=len(trace),
        settings=own,
        recorded=recorded or None,
        model=model,
        outcomes=outcomes,
        live=outcomes[0].figures.peak_requested_bytes,
        live_rounded=_most_live(trace, 512),
        no_cache=figures_in_core(trace, NoCache()).peak_reserved_bytes,
        capacities=tuple(capacities),
    )


def outcome_of(
    trace: Trace, settings: str, capacities: Sequence[int] = (), fits: int | None = None
) -> Outcome:
    """Return what a program needs under settings; `fits` is a capacity known to be enough."""
    figures = figures_in_core(trace, described(settings))
    description = described(settings, up(figures.peak_reserved_bytes) or STEP)
    found = smallest_device(trace, description, figures, fits)
    at = {each: figures_in_core(trace, described(settings, each)) for each in capacities}
    return Outcome(settings, figures, *found, at)


def described(settings: str, capacity: int = 0) -> PyTorch:
    """Return the allocator with settings; without a capacity a memory fraction says nothing."""
    given: dict[str, Any] = parse_settings(settings) if settings else {}
    if not capacity:
        given.pop("fraction", None)
    return PyTorch(capacity=capacity, **given)


def _modelled(settings: str) -> str:
    """Return recorded settings as they are, or none if PyTorch's own allocator was not used."""
    return ",".join(part for part in settings.split(",") if not part.startswith("backend:"))


def _most_live(trace: Trace, unit: int) -> int:
    """Return the most bytes live at once, each size rounded up."""
    sizes = np.where(allocates(trace.op), -(-np.maximum(trace.size, 1) // unit) * unit, 0)
    live = np.empty(len(trace), np.int64)
    live_bytes(trace.op, sizes, trace.slot, live, np.zeros(trace.slots, np.int64))
    return int(live.max(initial=0))
