"""What a program would need of a GPU's memory."""

from __future__ import annotations

import os
from collections.abc import Sequence

from simalloc.measure.device import CANDIDATES, SETTINGS, WhatIf, search, what_if
from simalloc.policy import parse_size
from simalloc.progress import progress as any_progress
from simalloc.trace import Trace
from simalloc.trace.catalogue import load_device


def device(
    snapshot: Trace | str | os.PathLike[str],
    settings: Sequence[str] = SETTINGS,
    *,
    capacity: int | str | Sequence[int | str] = (),
    searched: bool = False,
    number: int | None = None,
    progress: bool | None = None,
) -> WhatIf:
    """Say what a program would need under other settings of PyTorch's allocator.

    `snapshot` is a trace, or a file of one or of `torch.cuda.memory._dump_snapshot`, of which
    `number` chooses a device. `settings` are texts of PYTORCH_ALLOC_CONF; the recorded ones come
    first by themselves. `capacity` (bytes, or text such as `"24G"`) is that of one device or of
    several that it should fit. `searched` looks for settings that need less. Ctrl-C, or
    interrupting the kernel, ends all of it with what is known by then (`interrupted`). The result
    shows itself as tables.

    Raises `PolicyError` for settings that PyTorch would not take, `TraceError` for a snapshot that
    cannot be read.
    """
    trace = snapshot if isinstance(snapshot, Trace) else load_device(snapshot, device=number)
    given = [capacity] if isinstance(capacity, (int, str)) else [*capacity]
    capacities = [parse_size(each) if isinstance(each, str) else each for each in given]
    with any_progress(trace.name, len(settings) + 1, shown=progress) as bar:
        found = what_if(trace, settings, capacities, progress=bar)
    if not searched or found.interrupted:
        return found
    with any_progress(f"{trace.name}: search", len(CANDIDATES), shown=progress) as bar:
        return search(trace, found, progress=bar)
