"""PyTorch's memory snapshots: the requests to the caching allocator of one device.

A snapshot is a pickle, which can contain code. The reader never executes this code
(`pytorch_pickle.py`). Objects that were live before the history begins are the first mallocs, in
order of address. A failed request is a malloc, which is freed immediately if the program makes more
requests afterwards. Actions of the allocator itself, such as allocating a segment, are not events.
The trace's provenance counts them under `device` (`pytorch_history.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.formats import pytorch_pickle as entries
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.formats.numbering import Numbering
from simalloc.trace.formats.pytorch_history import History, live_blocks, max_split, settings_text
from simalloc.trace.formats.pytorch_start import segments_at_start, start_entry
from simalloc.trace.shapes import ReadEvents
from simalloc.trace.sites import PATH

_EVENTS: Final = 1 << 16
_LARGEST: Final = 1 << 30  # maximum bytes of a snapshot
_FRAMES: Final = 5  # maximum innermost frames of a call path
_LONGEST_TEXT: Final = 100


class _Snapshot:
    """The snapshot that torch.cuda.memory._dump_snapshot writes."""

    name = "pytorch"
    title = "a memory snapshot of PyTorch"

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        return Reading(("time", "site", "stream", "pool"), _batches(log))


def _batches(log: Log) -> Iterator[Batch]:
    loaded = _loaded(log)
    history = _history(log, loaded)
    wrong = int(np.count_nonzero(history.column("action") == entries.WRONG))
    if wrong:
        log.complain(
            "damaged entries",
            "an entry does not have the form of a snapshot's entries",
            count=wrong,
        )
    before, ops = history.at_start(), history.ops()
    log.provenance["device"]["live_at_start"] = {
        "objects": len(before),
        "bytes": int(before[:, entries.FIELDS.index("size")].sum()),
    }
    log.provenance["device"]["recorded"] = history.recorded()
    rows = np.concatenate((before, history.rows[ops >= 0]))
    op = np.concatenate((np.zeros(len(before), np.int64), ops[ops >= 0])).astype(np.uint8)
    _add_start(log, loaded, history, before, rows)
    yield from _events(rows, op)


def _add_start(
    log: Log,
    loaded: entries.Loaded,
    history: History,
    before: np.ndarray[Any, Any],
    rows: np.ndarray[Any, Any],
) -> None:
    """Add the segments before the history to the provenance, as far as they are known."""
    if not len(rows):
        return
    device = log.provenance["device"]
    try:  # a snapshot can contain any object
        segments = loaded.whole.get("segments", [])
        found = segments_at_start(history, segments, device["number"], loaded.pools.number)
    except (KeyError, TypeError, ValueError, AttributeError):
        return
    raw = rows[:, entries.FIELDS.index("stream")]
    streams = dict(zip(raw.tolist(), Numbering()(raw).tolist(), strict=True))
    start = start_entry(found, before[:, entries.FIELDS.index("address")].tolist(), streams)
    if start is not None:
        device["start"] = start


def _events(rows: np.ndarray[Any, Any], op: np.ndarray[Any, Any]) -> Iterator[Batch]:
    """Yield the events of rows. A failed request gets a key that is not an address.

    If the program made more requests afterwards, it continued without the object, which is freed
    immediately.
    """
    failed = rows[:, 0] == entries.OOM
    went_on = failed & (np.arange(len(rows)) < np.flatnonzero(op == Op.MALLOC).max(initial=0))
    of = np.repeat(np.arange(len(rows)), 1 + went_on)
    rows, op = rows[of], op[of]
    op[1:][of[1:] == of[:-1]] = Op.FREE
    action, address, size, stream, pool, time, site, _ = rows.T
    key = np.where(action == entries.OOM, -1 - of, address)
    columns: dict[str, Any] = {
        "time": (time - time[:1].sum()) * 1000,
        "site": site.astype(np.uint32),
        "stream": Numbering()(stream).astype(np.uint32) if len(stream) else stream,
        "pool": pool.astype(np.uint32),
    }
    whole = ReadEvents(op, key, size.copy(), columns=columns)
    for start in range(0, len(op), _EVENTS):
        yield Batch(whole.part(start, start + _EVENTS), hexadecimal=True)


def _loaded(log: Log) -> entries.Loaded:
    try:  # a snapshot can contain any object
        return entries.load(_content(log), _Places(log).number)
    except (ValueError, TypeError, RecursionError) as error:
        raise log.wrong(
            f"cannot be read as a pickle of data: {str(error)[:200] or 'damaged'}"
        ) from error


def _content(log: Log) -> bytes:
    if not FORMAT.sniff(log.stream.peek(2)):  # before the whole log is read into memory
        raise log.wrong("does not begin like a memory snapshot of PyTorch")
    content = log.stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise log.wrong(f"has more than {_LARGEST} bytes, the maximum size of a snapshot")
    return content


def _history(log: Log, loaded: entries.Loaded) -> History:
    """Return the history of the chosen device, or of the only device."""
    snapshot = loaded.whole if isinstance(loaded.whole, dict) else {}
    traces = snapshot.get("device_traces")
    if not isinstance(traces, list) or not all(isinstance(each, list) for each in traces):
        raise log.wrong("has no device_traces, so it is not a memory snapshot of PyTorch")
    device = _device(log, traces)
    places = [np.arange(each.start, each.stop) for each in traces[device] if type(each) is range]
    if len(places) < len(traces[device]):
        log.complain(
            "entries that are none",
            "an entry does not have the form of a snapshot's entries",
            count=len(traces[device]) - len(places),
        )
    try:  # all other parts of a snapshot may have any content
        live, reserved = live_blocks(snapshot.get("segments", []), device, loaded.pools.number)
        settings = settings_text(snapshot.get("allocator_settings"))
    except Exception as error:
        raise log.wrong(
            "has segments that do not have the form of a snapshot's segments"
        ) from error
    log.provenance["device"] = {"number": device, "settings": settings}
    chosen = np.concatenate(places) if places else np.zeros(0, np.int64)
    kept = max_split(snapshot.get("allocator_settings"))
    return History(loaded.rows[chosen], live, reserved, kept)


def _device(log: Log, traces: list[list[Any]]) -> int:
    used = [device for device, entries_ in enumerate(traces) if entries_]
    if not used:
        raise log.wrong(
            "has no events; call torch.cuda.memory._record_memory_history() before the "
            "code to be recorded"
        )
    listed = ", ".join(map(str, used))
    if log.device is not None:
        if log.device not in used:
            raise log.wrong(f"has no events of device {log.device}; choose from {listed}")
        return log.device
    if len(used) > 1:
        log.complain(
            "events of other devices",
            f"has events of the devices {listed}; choose one of them with --device",
            count=sum(len(traces[device]) for device in used[1:]),
        )
    return used[0]


class _Places:
    """Numbers and names the call paths of a snapshot. Number 0 means no call path."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._numbers: dict[str, int] = {}

    def number(self, frames: list[Any]) -> int:
        """Return the number of an entry's frames."""
        path = PATH.join(
            f"{_short(frame.get('name'))} ({_short(frame.get('filename'))}:{frame['line']})"
            for frame in frames[:_FRAMES]
            if isinstance(frame, dict) and type(frame.get("line")) is int
        )
        if not path:
            return 0
        number = self._numbers.setdefault(path, len(self._numbers) + 1)
        self._log.sites.put(number, path)
        return number


def _short(text: object) -> str:
    """Return a text, or the end of a long text, because many entries may share a huge text."""
    return text[-_LONGEST_TEXT:] if isinstance(text, str) else "?"


FORMAT: Final = _Snapshot()
