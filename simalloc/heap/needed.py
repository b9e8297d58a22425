"""Estimate of the memory that simulations will need, made before they begin.

The constants are upper bounds of measurements of the core's resident memory, on shipped traces and
on traces of 20,000 to 200,000 live objects (tests/unit/heap/test_needed_memory.py). A policy that
never merges free blocks can have more blocks than the maximum of live objects, and can therefore
exceed its estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from simalloc.bound.timetable import OBJECT_BYTES as OFFLINE_OBJECT
from simalloc.memory import require_memory
from simalloc.plural import counted

if TYPE_CHECKING:
    from simalloc.heap.running.setting import Setting

_SIMULATION: Final = 4 << 20
"""Bytes of the tables for a batch of events, the arenas and thread 0."""
_OBJECT: Final = 170
"""Bytes of a live object: its block, its index entry and its share of the free blocks."""
_THREAD: Final = 24 << 10
"""Bytes of a thread's caches and records."""
_GROUP_PAGES: Final = 4096
_RESIDENT_GROUP: Final = 700
"""Bytes of a group's bitmap of resident pages. Groups without an object boundary need none."""
_OCCUPIED_GROUP: Final = _GROUP_PAGES * 4 + 200
"""Bytes of a group's counts of the objects that begin or end in each page."""
_ADDRESS: Final = 8
_EVENT: Final = 30
"""Bytes of an event of an in-memory trace, in the form that a replay needs."""
_STREAM: Final = 20 << 20
"""Bytes of the chunks and parts of a trace file that are read ahead."""
_COLUMN: Final = 10 << 20
"""Bytes of the chunks read ahead for each optional column that a policy reads."""
_REFERENCE_OBJECT: Final = 1500
_REFERENCE_EVENT: Final = 400


def needed_bytes(settings: Sequence[Setting], *, addresses: bool = False) -> int:
    """Return an estimate of the bytes that simulations side by side need, including the events.

    `addresses` is true if each run keeps the address of every event's object.
    """
    if not settings:
        return 0
    events = len(settings[0].source)
    columns = {name for setting in settings for name in setting.columns}
    of_events = min(events * _EVENT, _STREAM + len(columns) * _COLUMN)
    return of_events + sum(_of_one(setting, addresses=addresses) for setting in settings)


def require_for(
    settings: Sequence[Setting], *, at_once: int | None = None, addresses: bool = False
) -> None:
    """Raise `SimallocError` if the simulations need more memory than may be used here.

    At most `at_once` of them exist at the same time; by default all of them do.
    """
    needs = sorted(settings, key=_of_one, reverse=True)[:at_once]
    if needs:
        policies = counted(len(needs), "policy", "policies")
        what = f"{needs[0].source.name}: a replay under {policies} at once"
        require_memory(needed_bytes(needs, addresses=addresses), what)


def _of_one(setting: Setting, *, addresses: bool = False) -> int:
    source, options = setting.source, setting.options
    events, slots = len(source), source.slots
    of_addresses = _ADDRESS * events if addresses else 0
    if options.engine == "reference":
        return of_addresses + events * _REFERENCE_EVENT + slots * _REFERENCE_OBJECT
    if setting.policy.description.runner == "offline":
        return of_addresses + source.objects * OFFLINE_OBJECT
    needed = _SIMULATION + of_addresses + slots * _OBJECT + setting.threads * _THREAD
    if options.resident:
        needed += _groups(setting, options.page) * _RESIDENT_GROUP
    return needed + sum(_groups(setting, page) * _OCCUPIED_GROUP for page in options.occupied)


def _groups(setting: Setting, page: int) -> int:
    """Return how many groups of pages have object boundaries, for a heap of twice its data."""
    source = setting.source
    in_heap = 2 * source.max_live_bytes // (page * _GROUP_PAGES) + 2
    return min(2 * source.slots, in_heap)
