"""What to type, in words, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import PurePath
from typing import Final

from simalloc.advice.candidates import PYTHONS_OWN, TRIM
from simalloc.advice.outcomes import Setting
from simalloc.advice.perturbed import PERTURBED, perturbed
from simalloc.advice.recorded import Recorded
from simalloc.advice.thread_arenas import thread_arenas
from simalloc.heap import simulate
from simalloc.trace import EventSource, Trace

LEAST_GAIN: Final = 0.05
"""Less than this share of the resident bytes is no reason to change anything: the model, the
recording and the system's own pages move figures by as much."""

LEAST_BYTES: Final = 256 << 10
"""Nor is less than this: it is a few dozen pages of any process."""

MOSTLY_LIVE: Final = 0.9
"""From this share on, what is resident is live data, and no malloc can help."""

OF_ARENAS: Final = 0.25
"""From this share of what is not live on, what is in the arenas of threads is named."""

MORE_AT_ONCE: Final = 0.01
"""What makes more threads want one arena at once, by this share of the requests, is not advised."""


@dataclass(frozen=True)
class Advice:
    """The verdict: `text` in words, and `line` to paste (empty: leave everything as it is).

    `now` is what the program uses, if that `is_known`, `best` the least of what is advisable: with
    as few threads that want one arena at once. `spread` is by how much the resident bytes that
    count move, as a fraction, in replays in which threads come in other orders and the heap begins
    elsewhere.
    """

    text: str
    line: str
    spread: float
    now: Setting
    best: Setting
    at_end: bool
    """Whether what counts is resident at the end, and not at the peak."""
    is_known: bool


def advise(
    source: EventSource,
    settings: Sequence[Setting],
    process: Recorded,
    *,
    perturb: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Advice:
    """Return the verdict on settings, of which one is what the program uses.

    What counts is the resident bytes: at the end, if most of the live data have been freed by then
    and most of the memory has not been given back; else at the peak. With `perturb` the `source` is
    held in memory and replayed with what is left to chance. `progress` is called with the number of
    events done since its last call, of at most `events_of_advice`.
    """
    now = in_use(settings, process)
    at_end = (
        now.run.final_live_bytes < now.run.max_live_bytes / 2
        and now.resident.final_bytes >= now.resident.peak_bytes / 2
    )
    ranked = sorted(settings, key=lambda one: counted(one, at_end=at_end))
    able = [one for one in ranked if one is now or _is_advisable(one, now)]
    best = able[0]
    spread = (
        _spread(source.in_memory(), (now, best), at_end=at_end, progress=progress)
        if perturb
        else 0.0
    )
    where = _in_arenas(source, now, at_end=at_end, progress=progress)
    holds, less = (counted(one, at_end=at_end) for one in (now, best))
    gain = 1 - less / max(holds, 1)
    others = _not_advised(now, best, ranked, at_end=at_end)
    if gain <= max(LEAST_GAIN, spread) or holds - less < LEAST_BYTES:
        near = _near(now, best, gain, at_end=at_end)
        near += " that can be advised" if others else ""
        text = f"{_no_model(process, ':') or 'Leave it:'} {near}{_moved(spread)}."
        text, line = text + _resident(now, where, at_end=at_end), ""
    else:
        text = _held(now, process, where, at_end=at_end) + _change(now, best, able, at_end=at_end)
        text, line = f"{text}{_moved(spread)}.{_unsure(best, perturb=perturb)}", best.line
    return Advice(text + others, line, spread, now, best, at_end, process.has_model)


def in_use(settings: Sequence[Setting], process: Recorded) -> Setting:
    """Return what the program uses, as far as the trace tells: else the first."""
    is_python = any(one.candidate.python for one in settings)
    name = PYTHONS_OWN if is_python else process.allocator
    return next((one for one in settings if one.candidate.name == name), settings[0])


def is_worth(holds: float, gain: float) -> bool:
    """Say whether holding this many bytes less is a reason to change something."""
    return gain >= max(LEAST_BYTES, LEAST_GAIN * holds)


def counted(setting: Setting, *, at_end: bool) -> float:
    """Return the resident bytes that count: those at the end, or at the peak."""
    return setting.resident.final_bytes if at_end else setting.resident.peak_bytes


def _is_advisable(setting: Setting, now: Setting) -> bool:
    return setting.candidate.can_be_set and not _waits(setting, now)


def _waits(setting: Setting, now: Setting) -> bool:
    """Whether threads would want one arena at once clearly more often than now."""
    return (setting.at_once or 0) > (now.at_once or 0) + MORE_AT_ONCE


def _live(setting: Setting, *, at_end: bool) -> float:
    return setting.run.final_live_bytes if at_end else setting.run.max_live_bytes


def _no_model(process: Recorded, end: str) -> str:
    """Say that it is not known what the program holds now; empty if it is."""
    if process.has_model:
        return ""
    return f"There is no model of {PurePath(process.allocator).name}, which served the program{end}"


def _near(now: Setting, best: Setting, gain: float, *, at_end: bool) -> str:
    """Say how near what is used now comes to the best, if by a share that changes nothing."""
    more = counted(now, at_end=at_end) - counted(best, at_end=at_end)
    near = f"within {max(1, ceil(100 * gain))}% of the best of these"
    if best is now:
        near = "the best of these"
    elif more < LEAST_BYTES:
        near = f"only {more / 1024:,.0f} KiB above the best of these"
    return f"{now.candidate.name} is {near}"


def _resident(now: Setting, where: str, *, at_end: bool) -> str:
    holds, live = counted(now, at_end=at_end), _live(now, at_end=at_end)
    share = f", and live data are {live / holds:.0%} of it" if holds else ""
    mostly = holds and live > MOSTLY_LIVE * holds
    see = " See which code has them: `simalloc sites`." if mostly else ""
    return f" {_when(at_end=at_end)} {_spelled(holds)} are resident{share}{where}.{see}"


def _held(now: Setting, process: Recorded, where: str, *, at_end: bool) -> str:
    when, name = _when(at_end=at_end), now.candidate.name
    no_model = _no_model(process, f". {when} {name} would hold")
    return (
        f"{no_model or f'You run {name}. {when} it holds'} "
        f"{_spelled(counted(now, at_end=at_end))} for {_spelled(_live(now, at_end=at_end))} of "
        f"live data{where}."
    )


def _change(now: Setting, best: Setting, able: Sequence[Setting], *, at_end: bool) -> str:
    text = f" `{best.line}` would hold {_spelled(counted(best, at_end=at_end))}"
    other = next((one for one in able if one.candidate.allocator != best.candidate.allocator), now)
    if other is not now and counted(other, at_end=at_end) < counted(now, at_end=at_end):
        text += f"; `{other.line}` {_spelled(counted(other, at_end=at_end))}"
    return text


def _when(*, at_end: bool) -> str:
    return "At the end" if at_end else "At its peak"


def _in_arenas(
    source: EventSource, now: Setting, *, at_end: bool, progress: Callable[[int], None] | None
) -> str:
    """Say how much of what is not live is in arenas of threads under glibc, if that is much."""
    if now.candidate.allocator != "glibc" or now.run.threads == 1:
        return ""
    event = len(source) - 1 if at_end else now.resident.peak_event
    found = thread_arenas(source, now.run.policy, event, progress=progress or (lambda _: None))
    holds = counted(now, at_end=at_end)
    unused = holds - _live(now, at_end=at_end)
    if found.bytes < OF_ARENAS * unused or not is_worth(holds, found.bytes):
        return ""
    idle = f", {found.idle} of them idle ({_spelled(found.idle_bytes)})" if found.idle else ""
    return f": {_spelled(found.bytes)} of the rest are in {found.arenas} arenas of threads{idle}"


def _unsure(best: Setting, *, perturb: bool) -> str:
    """Say what is not known of a change that is advised."""
    text = ""
    if not perturb:
        text += " By how much chance moves that was not looked at: the trace is long."
    if best.at_once is None and best.run.threads > 1 and best.candidate.below != "mimalloc":
        text += (
            " How often its threads would wait for one arena is not known: measure its time first, "
            "or record it with --times."
        )
    return text


def _moved(spread: float) -> str:
    return f" (what is left to chance moves that by up to {spread:.0%})" if spread >= 0.005 else ""


def _not_advised(now: Setting, best: Setting, ranked: Sequence[Setting], *, at_end: bool) -> str:
    """Say of what holds clearly less, and is not advised, why."""
    least = ranked[0]
    gain = counted(best, at_end=at_end) - counted(least, at_end=at_end)
    if least is best or not is_worth(counted(now, at_end=at_end), gain):
        return ""
    holds = _spelled(counted(least, at_end=at_end))
    if TRIM in least.candidate.values:
        every = f"{least.candidate.trims_every:,}"
        return f" If the program called malloc_trim(0) every {every} requests, it would be {holds}."
    if not least.candidate.can_be_set:
        return f" Another Python ({least.candidate.name}) would hold {holds}."
    return (
        f" `{least.line}` would hold {holds}, but {least.at_once or 0:.0%} of the "
        f"requests would want an arena that another thread has just then (now "
        f"{now.at_once or 0:.0%}): measure its time first."
    )


def _spelled(number: float) -> str:
    unit, name = (1 << 20, "MiB") if number >= 100 << 10 else (1 << 10, "KiB")
    return f"{number / unit:,.1f} {name}"


def events_of_advice(source: EventSource) -> int:
    """Return how many events `advise` replays at most."""
    return (PERTURBED * 2 + 1) * len(source)


def _spread(
    trace: Trace,
    settings: Sequence[Setting],
    *,
    at_end: bool,
    progress: Callable[[int], None] | None,
) -> float:
    """Return by how much what is left to chance moves the resident bytes, at most."""
    moved = [0.0]
    for other in perturbed(trace):
        for setting in {id(one): one for one in settings}.values():
            run = simulate(other, setting.run.policy, resident=True, progress=progress)
            assert run.resident is not None, "it has been asked for"
            came = run.resident.final_bytes if at_end else run.resident.peak_bytes
            expected = counted(setting, at_end=at_end)
            moved.append(abs(came / expected - 1) if expected else 0.0)
    return max(moved)
