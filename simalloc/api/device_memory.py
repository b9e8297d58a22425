"""The GPU memory that a program needs."""

from __future__ import annotations

import os
from collections.abc import Sequence

from simalloc.arguments import FLAG, TEXTS, checked, optional, whole
from simalloc.measure.device import CANDIDATES, SETTINGS, WhatIf, search, what_if
from simalloc.progress import progress as any_progress
from simalloc.sizes import parse_size
from simalloc.trace import Trace
from simalloc.trace.catalogue import load_device


@checked(settings=TEXTS, searched=FLAG, number=optional(whole()))
def device(
    snapshot: Trace | str | os.PathLike[str],
    settings: Sequence[str] = SETTINGS,
    *,
    capacity: int | str | Sequence[int | str] = (),
    searched: bool = False,
    number: int | None = None,
    progress: bool | None = None,
) -> WhatIf:
    """Return the GPU memory that a program needs under other settings of PyTorch's allocator.

    Parameters
    ----------
    snapshot : Trace, str or path
        A trace, or the file of a trace or of `torch.cuda.memory._dump_snapshot`.
    settings : sequence of str
        Texts of PYTORCH_ALLOC_CONF. The recorded settings are always measured first. The default is
        a list of popular settings.
    capacity : int, str or sequence, optional
        Memory of one or more devices, in bytes or as text such as `"24G"`. The result states which
        settings fit each device.
    searched : bool, default False
        Search for settings that need less memory.
    number : int, optional
        Number of the device, for a snapshot with several devices.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    WhatIf
        `outcomes` has an entry for each text of settings, with the peak memory in bytes and the
        smallest device on which the program runs. Ctrl-C, or an interrupt of the kernel, ends the
        work with the outcomes so far, and `interrupted` is then true. A notebook displays the
        result as tables.

    Raises
    ------
    PolicyError
        If PyTorch would reject a setting.
    TraceError
        If the snapshot cannot be read.

    Examples
    --------
    >>> simalloc.device("snapshot.pickle", capacity="24G", searched=True)
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
