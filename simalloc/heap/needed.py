"""The memory that simulations will need, estimated before they begin.

The constants are upper bounds of measurements of the resident memory of the core on shipped traces
and on traces of 20,000 to 200,000 live objects (tests/unit/heap/test_needed_memory.py). Policies
that never merge free blocks may keep more blocks than there were live objects, so they can exceed
an estimate.
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
"""Tables for a batch of events, arenas and thread 0."""
_OBJECT: Final = 170
"""A live object: its block, its place in an index and the share of free blocks."""
_THREAD: Final = 24 << 10
"""A thread's caches and records."""
_GROUP_PAGES: Final = 4096
_RESIDENT_GROUP: Final = 700
"""The state of a group of pages, a bit a page; a group without a boundary of an object has none."""
_OCCUPIED_GROUP: Final = _GROUP_PAGES * 4 + 200
"""The counts of the objects that begin or end in each page of a group."""
_ADDRESS: Final = 8
_EVENT: Final = 30
"""An event of a trace in memory, as a replay needs it."""
_STREAM: Final = 20 << 20
"""Chunks and parts of a trace, which are read ahead."""
_COLUMN: Final = 10 << 20
"""The same for each optional column that a policy reads."""
_REFERENCE_OBJECT: Final = 1500
_REFERENCE_EVENT: Final = 400


def needed_bytes(settings: Sequence[Setting], *, addresses: bool = False) -> int:
    """Return an estimate of the bytes that simulations side by side need, with the trace's events.

    `addresses` says that each keeps the address of every event's object.
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

    At most `at_once` of them exist at the same time; all of them do by default.
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
    """Return the number of groups of pages with ends of objects, if a heap is twice its data."""
    source = setting.source
    in_heap = 2 * source.max_live_bytes // (page * _GROUP_PAGES) + 2
    return min(2 * source.slots, in_heap)
