"""What to type, in words, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.heap import simulate
from simalloc.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.measure.settings.outcomes import Setting
    from simalloc.measure.settings.recorded import Recorded

LEAST_GAIN: Final = 0.05
"""Less than this share of the resident bytes is no reason to change anything: the model, the
recording and the system's own pages move figures by as much."""

LEAST_BYTES: Final = 256 << 10
"""Nor is less than this: it is a few dozen pages of any process."""

_ORDERS: Final = 2
"""In how many other orders of its threads' events a trace is replayed, to see what timing moves."""


@dataclass(frozen=True)
class Advice:
    """The verdict: `text` in words, and `line` to paste (empty: leave everything as it is).

    `spread` is by how much the resident bytes at the end move, as a fraction, when events of
    different threads come in other orders.
    """

    text: str
    line: str
    spread: float


def advise(source: Trace | None, settings: Sequence[Setting], process: Recorded) -> Advice:
    """Return the verdict on settings, of which one is what the program uses.

    What counts is the resident bytes: at the end, if most of the peak has been freed by then, else
    at the peak. The `source` is replayed in other orders of its threads; None: it is too long.
    """
    now = next(
        (one for one in settings if one.candidate.name == process.allocator),
        settings[0],
    )
    at_end = now.run.final_live_bytes < now.run.max_live_bytes / 2
    best = min(settings, key=lambda one: _counted(one, at_end=at_end))
    spread = 0.0 if source is None else _spread(source, (now, best), at_end=at_end)
    holds, less = (_counted(one, at_end=at_end) for one in (now, best))
    gain = 1 - less / max(holds, 1)
    if gain <= max(LEAST_GAIN, spread) or holds - less < LEAST_BYTES:
        return Advice(_leave(now, best, gain, spread, at_end=at_end), "", spread)
    return Advice(_change(now, best, settings, at_end=at_end), best.candidate.line, spread)


def _counted(setting: Setting, *, at_end: bool) -> float:
    return setting.resident.final_bytes if at_end else setting.resident.peak_bytes


def _live(setting: Setting, *, at_end: bool) -> float:
    return setting.run.final_live_bytes if at_end else setting.run.max_live_bytes


def _leave(now: Setting, best: Setting, gain: float, spread: float, *, at_end: bool) -> str:
    holds, live = _counted(now, at_end=at_end), _live(now, at_end=at_end)
    share = f", and live data are {live / holds:.0%} of it" if holds else ""
    sure = f"; other orders of its threads move that by {spread:.0%}" if spread else ""
    more = holds - _counted(best, at_end=at_end)
    near = f"within {gain:.0%} of the best of these"
    if best is now:
        near = "the best of these"
    elif more < LEAST_BYTES:
        near = f"only {more / 1e3:,.0f} kB above the best of these"
    where = "At the end" if at_end else "At its peak"
    return (
        f"Leave it: {now.candidate.name} is {near}{sure}. {where} {_megabytes(holds)} are "
        f"resident{share}."
    )


def _change(now: Setting, best: Setting, settings: Sequence[Setting], *, at_end: bool) -> str:
    where = "At the end" if at_end else "At its peak"
    holds, live = _counted(now, at_end=at_end), _live(now, at_end=at_end)
    text = (
        f"You run {now.candidate.name}. {where} it holds {_megabytes(holds)} for "
        f"{_megabytes(live)} of live data. `{best.candidate.line}` would hold "
        f"{_megabytes(_counted(best, at_end=at_end))}"
    )
    others = [one for one in settings if one.candidate.allocator != best.candidate.allocator]
    if not others:
        return f"{text}."
    other = min(others, key=lambda one: _counted(one, at_end=at_end))
    if not other.candidate.line or _counted(other, at_end=at_end) >= holds:
        return f"{text}."
    return f"{text}; `{other.candidate.line}` {_megabytes(_counted(other, at_end=at_end))}."


def _megabytes(number: float) -> str:
    return f"{number / 1e6:,.1f} MB"


def _spread(trace: Trace, settings: Sequence[Setting], *, at_end: bool) -> float:
    """Return by how much other orders of the threads' events move the resident bytes, at most."""
    if trace.thread is None or not trace.thread.any():
        return 0.0
    moved = [0.0]
    for seed in range(1, _ORDERS + 1):
        other = in_another_order(trace, seed)
        for setting in settings:
            run = simulate(other, setting.run.policy, resident=True)
            assert run.resident is not None, "it has been asked for"
            counted = run.resident.final_bytes if at_end else run.resident.peak_bytes
            expected = _counted(setting, at_end=at_end)
            moved.append(abs(counted / expected - 1) if expected else 0.0)
    return max(moved)


def in_another_order(trace: Trace, seed: int) -> Trace:
    """Return the trace with neighbouring events of different threads swapped here and there.

    Events of one object, and of one thread, keep their order.
    """
    assert trace.thread is not None, "only threads can be in another order"
    random = np.random.default_rng(seed)
    order = np.arange(len(trace))
    for first in (0, 1) * 4:
        low = order[first:-1:2]
        high = order[first + 1 :: 2]
        may = (trace.thread[low] != trace.thread[high]) & (trace.object[low] != trace.object[high])
        may &= (
            (trace.object[low] >= 0) & (trace.object[high] >= 0) & (random.random(len(low)) < 0.5)
        )
        swapped = np.where(may, high, low), np.where(may, low, high)
        order[first:-1:2], order[first + 1 :: 2] = swapped
    columns = {name: values[order] for name, values in trace.columns.items()}
    if "time" in columns:
        columns["time"] = trace.columns["time"]  # the clock goes on as it did
    return Trace.from_events(
        trace.op[order],
        trace.object[order],
        trace.size[order],
        name=trace.name,
        provenance=trace.provenance,
        **columns,
    )
