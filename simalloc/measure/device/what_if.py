"""A program's requests under several settings of PyTorch's allocator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from simalloc.errors import PolicyError
from simalloc.heap.device_figures import DeviceFigures
from simalloc.heap.watch.device_replay import figures_in_core
from simalloc.measure.device.begun import begun
from simalloc.measure.device.outcomes import DeviceOutcome, described, outcomes_of
from simalloc.measure.device.smallest import STEP
from simalloc.plural import counted
from simalloc.policy.device import UNLIMITED, NoCache
from simalloc.printable import printable
from simalloc.shown import ShownAsTable
from simalloc.trace import Trace
from simalloc.trace._c import live_bytes
from simalloc.trace.events import allocates

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
"""Popular settings; the first are PyTorch's defaults."""


@dataclass(frozen=True, repr=False)
class WhatIf(ShownAsTable):
    """The device memory that a program used, would use under other settings, and needs at least.

    `recorded` has the figures of the real allocator, if the trace has them
    (`docs/device-memory.md`). `model` has the figures under the same settings on a device that
    refuses the same requests. If `model_has_start` is true, the model begins with the recorded
    state; all other runs begin with an empty device.
    """

    trace: str
    events: int
    settings: str
    recorded: dict[str, int] | None
    model: DeviceFigures
    model_capacity: int
    """Capacity of the model's device in bytes, or 0 for unlimited memory."""
    model_has_start: bool
    """True if the model begins with the recorded segments and blocks."""
    outcomes: tuple[DeviceOutcome, ...]
    live: int
    """Peak of live bytes: no allocator needs less."""
    live_rounded: int
    """Peak of live bytes, with each size rounded up to 512 bytes."""
    no_cache: int
    """Peak of live bytes, with each size rounded up to 2 MiB: every request calls the device."""
    capacities: tuple[int, ...] = ()
    searched: int = 0
    """Number of further settings that a search tried; its result is the last outcome."""
    interrupted: bool = False
    """True if Ctrl-C ended the work early."""
    misunderstood: str = ""
    """Reason why the recorded settings cannot be modelled, or empty. `settings` is then empty."""

    def __repr__(self) -> str:
        settings = counted(len(self.outcomes), "setting")
        return printable(f"<WhatIf: {self.trace} under {settings}>")

    @property
    def best(self) -> DeviceOutcome:
        """The outcome with the smallest device; of several such outcomes, the first."""
        return min(self.outcomes, key=lambda outcome: outcome.smallest)


def what_if(
    trace: Trace,
    settings: Sequence[str] | None = None,
    capacities: Sequence[int] = (),
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> WhatIf:
    """Replay a trace under several texts of PYTORCH_ALLOC_CONF.

    The recorded settings come first. For each text, the smallest device is found, and the program
    is run on devices of the `capacities` (bytes). `progress` is called with 1 for each text. After
    Ctrl-C the search for smaller devices ends: the result is marked `interrupted`, and its outcomes
    state whether they are exact. Raises `PolicyError` for settings that PyTorch would reject.
    """
    device = trace.provenance.get("device")
    device = device if isinstance(device, dict) else {}
    own, misunderstood = _modelled(str(device.get("settings", "")))
    tried = list(dict.fromkeys([own, *(SETTINGS if settings is None else settings)]))
    for text in tried:
        described(text)  # raises an error before any work is done

    outcomes, interrupted = outcomes_of(trace, tried, capacities, progress=progress)
    recorded = device.get("recorded")
    recorded = recorded if isinstance(recorded, dict) else {}
    model, capacity = outcomes[0].figures, _capacity(recorded)
    start = begun(trace)
    if capacity or start:
        total = min(max(capacity, recorded.get("total_bytes", 0) or UNLIMITED), UNLIMITED)
        description = described(own, capacity, total) if capacity else described(own)
        played, segments = start or (trace, 0)
        model = figures_in_core(played, description, goes_on=True)
        model = replace(model, device_alloc=model.device_alloc - segments)
    return WhatIf(
        trace=trace.name,
        events=len(trace),
        settings=own,
        recorded=recorded or None,
        model=model,
        model_capacity=capacity,
        model_has_start=start is not None,
        outcomes=outcomes,
        live=outcomes[0].figures.peak_requested_bytes,
        live_rounded=_max_live(trace, 512),
        no_cache=figures_in_core(trace, NoCache()).peak_reserved_bytes,
        capacities=tuple(capacities),
        interrupted=interrupted,
        misunderstood=misunderstood,
    )


def _capacity(recorded: dict[str, int]) -> int:
    """Return the capacity of the model's device in bytes, or 0 for unlimited memory.

    If the whole program was recorded and requests were refused, the capacity is the maximum that
    was ever granted, which separates these requests from the others. Otherwise it is the device's
    memory at the time of the failure.
    """
    whole = not recorded.get("first_reserved_bytes")
    refused = recorded.get("oom") or recorded.get("made_room")
    capacity = recorded.get("granted_bytes" if whole and refused else "device_bytes", 0)
    return capacity if STEP <= capacity <= UNLIMITED else 0


def _modelled(settings: str) -> tuple[str, str]:
    """Return the recorded settings without the backend, and the reason if they cannot be modelled.

    Settings of a later PyTorch, for example, cannot be modelled. The first value is then "", for
    PyTorch's defaults.
    """
    text = ",".join(part for part in settings.split(",") if not part.startswith("backend:"))
    try:
        described(text)
    except PolicyError as error:
        return "", str(error)
    return text, ""


def _max_live(trace: Trace, unit: int) -> int:
    """Return the peak of live bytes, with each size rounded up to a multiple of `unit`."""
    sizes = np.where(allocates(trace.op), -(-np.maximum(trace.size, 1) // unit) * unit, 0)
    live = np.empty(len(trace), np.int64)
    live_bytes(trace.op, sizes, trace.slot, live, np.zeros(trace.slots, np.int64))
    return int(live.max(initial=0))
