"""PyTorch's memory snapshots: what the caching allocator of one device was asked for.

A snapshot is a pickle, which can hold code. It is read by an unpickler that can name no class and
no function, so that nothing in it can run. The whole snapshot is held in memory.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.formats.log import Batch, Reading
from simalloc.trace.formats.numbering import Numbering
from simalloc.trace.intake import Events
from simalloc.trace.sites import FRAMES, PATH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simalloc.trace.formats.log import Log

_EVENTS: Final = 1 << 14
_LARGEST: Final = 1 << 30  # bytes of a snapshot
_NO_EVENTS: Final = frozenset(
    {
        *("free_requested", "segment_alloc", "segment_free", "segment_map", "segment_unmap"),
        *("snapshot", "annotate", "user_defined"),
    }
)
_MOST: Final = 2**52  # of a number: more than any address, and microseconds of a century
_LONGEST_TEXT: Final = 100
_OPS: Final = {"alloc": Op.MALLOC, "free": Op.FREE, "free_completed": Op.FREE}


class _Data(pickle._Unpickler):  # noqa: SLF001 - the docstring says why
    """Unpickles numbers, texts and containers alone.

    It is the unpickler in Python. That in C makes its memo as long as the largest number in the
    file says: a few bytes can take all memory. So can a bytearray, which no snapshot has.
    """

    dispatch = {  # noqa: RUF012 - as the class above has it
        code: load
        for code, load in pickle._Unpickler.dispatch.items()  # noqa: SLF001 - as above
        if code != pickle.BYTEARRAY8[0]
    }

    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuse whatever the pickle names."""
        raise pickle.UnpicklingError(f"it names {module}.{name}; a snapshot holds data alone")

    def get_extension(self, code: int) -> NoReturn:
        """Refuse what is named by a number."""
        raise pickle.UnpicklingError(f"it names extension {code}; a snapshot holds data alone")


class _Snapshot:
    """The snapshot that torch.cuda.memory._dump_snapshot writes."""

    name = "pytorch"
    title = "a memory snapshot of PyTorch"

    def sniff(self, head: bytes) -> bool:
        """Whether a log that begins with `head` is of this kind."""
        return len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        return Reading(("thread", "time", "site"), _batches(log))


def _loaded(log: Log) -> Any:
    content = log.stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise log.wrong(f"has more than {_LARGEST} bytes, the most that a snapshot may have here")
    try:  # a damaged pickle can end in any error
        return _Data(io.BytesIO(content)).load()
    except Exception as error:
        raise log.wrong(
            f"cannot be read as a pickle of data: {str(error)[:200] or 'damaged'}"
        ) from error


def _entries(log: Log) -> list[dict[str, Any]]:
    """Return what happened on the device that the snapshot is of."""
    snapshot = _loaded(log)
    traces = snapshot.get("device_traces") if isinstance(snapshot, dict) else None
    if not isinstance(traces, list) or not all(isinstance(each, list) for each in traces):
        raise log.wrong("has no device_traces: it is no memory snapshot of PyTorch")
    used = [device for device, entries in enumerate(traces) if entries]
    if not used:
        raise log.wrong(
            "has no events: call torch.cuda.memory._record_memory_history() before what is to be "
            "seen"
        )
    if len(used) > 1:
        log.complain(
            "events of other devices",
            f"has events of the devices {', '.join(map(str, used))}; a trace is of one",
            count=sum(len(traces[device]) for device in used[1:]),
        )
    entries: list[dict[str, Any]] = traces[used[0]]
    return entries


def _batches(log: Log) -> Iterator[Batch]:
    entries = _entries(log)
    streams, places = Numbering(), _Places()
    start: int | None = None
    for at in range(0, len(entries), _EVENTS):
        rows = []
        for entry in entries[at : at + _EVENTS]:
            row = _row(log, entry, places)
            if row is not None:
                rows.append(row)
        if not rows:
            continue
        op, key, size, stream, time, site = np.ascontiguousarray(np.array(rows, np.int64).T)
        start = int(time[0]) if start is None else start
        columns: dict[str, Any] = {
            "thread": streams(stream).astype(np.uint32),
            "time": (time - start) * 1000,
            "site": site.astype(np.uint32),
        }
        events = Events(op.astype(np.uint8), key, size, columns=columns)
        yield Batch(events, hexadecimal=True)


class _Places:
    """Numbers the call paths of a snapshot, and names them; 0 where an entry has none."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, log: Log, frames: object) -> int:
        """Return the number of an entry's frames."""
        shown = frames[:FRAMES] if isinstance(frames, list) else []
        path = PATH.join(
            f"{_short(frame.get('name'))} ({_short(frame.get('filename'))}:{frame['line']})"
            for frame in shown
            if isinstance(frame, dict) and _is_number(frame.get("line"))
        )
        if not path:
            return 0
        number = self._numbers.setdefault(path, len(self._numbers) + 1)
        log.sites.put(number, path)
        return number


def _row(log: Log, entry: object, places: _Places) -> tuple[int, int, int, int, int, int] | None:
    """Return op, address, size, stream, microsecond and site of an entry; None if no event."""
    fields: dict[Any, Any] = entry if isinstance(entry, dict) else {}
    action = fields.get("action")
    if action == "oom":
        log.leave_out("allocations that failed")
        return None
    if isinstance(action, str) and action in _NO_EVENTS:
        return None
    if isinstance(action, str) and action in _OPS:
        address, size = fields.get("addr"), fields.get("size")
        stream, time = fields.get("stream", 0), fields.get("time_us", 0)
        if all(_is_number(each) for each in (address, size, stream, time)):
            site = places.number(log, fields.get("frames"))
            return _OPS[action], address, size, stream, time, site  # type: ignore[return-value]
    log.complain("entries that are none", "an entry is not as a snapshot has them")
    return None


def _short(text: object) -> str:
    """Return a text, or its end if it is long: many entries may share a text that is huge."""
    return text[-_LONGEST_TEXT:] if isinstance(text, str) else "?"


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < _MOST


FORMAT: Final = _Snapshot()
