"""The certainty of a saving, estimated by replays of perturbed traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from simalloc.advice.marks import replay_marked, unused_by_interval
from simalloc.advice.moments import Marks, Moment, marks_of, moments_of
from simalloc.advice.outcomes import Setting
from simalloc.advice.perturbed import PERTURBED, perturbed
from simalloc.heap.running.setting import Setting as Replayed
from simalloc.trace import EventSource, Trace


@dataclass(frozen=True)
class Variation:
    """Maximum variation of the present memory and minimum saving, in bytes by moment.

    At `Moment.UNUSED`, only the change of unused bytes counts as variation, and each replay has its
    own event.
    """

    moves: dict[Moment, float]
    saves: dict[Moment, float]


def variation(
    trace: Trace,
    now: Setting,
    best: Setting,
    *,
    progress: Callable[[int], None] | None = None,
) -> Variation:
    """Replay perturbed variants of a trace under the present setting and the best one.

    `progress` is called with the number of events done since its last call.
    """
    moves = dict.fromkeys(Moment, 0.0)
    saves = {moment: now.moments[moment] - best.moments[moment] for moment in Moment}
    first = now.run.live_at_start.objects if now.run.options.start is not None else 0
    for other in perturbed(trace, first):
        event = _unused(other, now, progress)
        marks = marks_of(other, event)
        some = [now] if best is now else [now, best]
        came = _came(other, some, marks, progress)
        live = _live(other, event) - now.live[Moment.UNUSED]
        for moment in Moment:
            change = came[0][moment] - now.moments[moment]
            change -= live if moment is Moment.UNUSED else 0
            moves[moment] = max(moves[moment], abs(change))
            saves[moment] = min(saves[moment], came[0][moment] - came[-1][moment])
    return Variation(moves, saves)


def _unused(trace: Trace, now: Setting, progress: Callable[[int], None] | None) -> int:
    """Return the last event of the timeline interval with the most unused bytes."""
    (found,) = replay_marked([_replayed(trace, now)], [np.empty(0, np.int64)], progress)
    line = found.run.resident.timeline if found.run.resident else found.run.timeline
    if not len(line.heap_high):
        return -1
    interval = int(np.argmax(unused_by_interval(found.run, whole=True)))
    return min((interval + 1) * line.interval, len(trace)) - 1


def _live(trace: Trace, event: int) -> int:
    """Return the live bytes after an event, or 0 before the first event."""
    return int(trace.replayed.live[event]) if 0 <= event < len(trace) else 0


def _replayed(trace: Trace, setting: Setting) -> Replayed:
    run = setting.run
    return Replayed.of(trace, run.policy, page=run.page, resident=True, start=run.options.start)


def _came(
    trace: Trace,
    settings: Sequence[Setting],
    marks: Marks,
    progress: Callable[[int], None] | None,
) -> list[dict[Moment, float]]:
    """Return the resident bytes of each setting at each moment of another trace."""
    replayed = [_replayed(trace, one) for one in settings]
    found = replay_marked(replayed, [marks.event] * len(settings), progress)
    return [
        dict(moments_of(each, marks, one.library_bytes))
        for each, one in zip(found, settings, strict=True)
    ]


def events_of_variation(source: EventSource) -> int:
    """Return the maximum number of events that `variation` replays."""
    return PERTURBED * 3 * len(source)


def share(variation: Variation, now: Setting) -> float:
    """Return the maximum variation of the present memory as a share of its peak."""
    return max(variation.moves.values()) / max(now.moments[Moment.PEAK], 1)
