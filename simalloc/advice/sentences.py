"""The sentences of a verdict. Each can be omitted without a change of the others."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import PurePath
from typing import Final

from simalloc.advice.candidates import GLIBC, PYTHONS_OWN, TRIM, Candidate
from simalloc.advice.choice import (
    MIN_BYTES,
    MIN_SECONDS,
    Choice,
    helped,
    is_able,
    is_costly,
    waits,
)
from simalloc.advice.circumstances import RemoteFrees, Share
from simalloc.advice.costs import Cost
from simalloc.advice.machine import Machine
from simalloc.advice.moments import Moment
from simalloc.advice.outcomes import Setting
from simalloc.advice.recorded import Recorded
from simalloc.advice.thread_arenas import ThreadArenas
from simalloc.plural import counted
from simalloc.sizes import spell_mib
from simalloc.trace.recorder.built_in import FREE_THREADED, GO

MOSTLY_LIVE: Final = 0.9
"""Share of live bytes in the resident bytes above which no malloc can help."""

MIN_UNWRITTEN: Final = 0.01
"""Minimum share of the live data that is reported as never written."""


def spelled(number: float) -> str:
    """Format bytes as in the table, in MiB; below 10 KiB, in bytes."""
    if abs(number) < 10 << 10:
        return f"{number:,.0f} bytes"
    return spell_mib(number)


def live_at(setting: Setting, moment: Moment) -> float:
    """Return the live bytes at a moment under a setting."""
    if moment is not Moment.PEAK:
        return setting.live[moment]
    began = setting.run.live_at_start
    is_later = setting.resident.peak_event >= began.last_event
    return setting.resident.live_bytes_at_peak if is_later else began.bytes


def unwritten(live: float, resident: float) -> str:
    """Return a sentence on live data that is not resident at a peak, if it is worth a sentence."""
    if live - resident < MIN_UNWRITTEN * live:
        return ""
    return (
        f" At least {spelled(live - resident)} of the live data is never written and therefore "
        f"not resident."
    )


def share_of_process(share: Share | None) -> str:
    """Return a sentence on the share of malloc's heap in the process."""
    if share is None:
        return ""
    return (
        f"The process's resident memory peaks at {spelled(share.process)}; malloc's heap is "
        f"{100 * share.of_malloc:.0f} % of it ({spelled(share.heap)}) at that time.{_rest(share)}"
    )


def _rest(share: Share) -> str:
    """Return a sentence on the process's memory besides malloc's heap, if it is known."""
    if share.files is None or share.other is None:
        return ""
    named = f", including {spelled(share.mapped)} that {share.mapped_by} mapped"
    return (
        f" Mapped files account for {spelled(share.files)} and other memory for "
        f"{spelled(share.other)}{named if share.mapped_by else ''}."
    )


def no_setting_can_help(share: Share) -> str:
    """Return a refusal: malloc's heap is too small a part of the process."""
    part = f"{max(share.of_malloc, 0.001):.{0 if share.of_malloc >= 0.01 else 1}%}"
    return (
        f"No change recommended: malloc's heap is {part.replace('%', ' %')} of the process's peak "
        f"resident memory ({spelled(share.heap)} of {spelled(share.process)}), so no malloc "
        f"setting can help.{_rest(share)}"
    )


def built_in(allocator: str) -> str:
    """Return a refusal: blocks of an allocator inside the program are missing from the trace."""
    remedies = {GO: "", FREE_THREADED: " Record the program under a Python build with the GIL."}
    link = " To compare mallocs, link the program without this allocator and record it again."
    return (
        f"No verdict: the program contains {allocator}, whose blocks are missing from the "
        f"recording. All figures exclude these blocks.{remedies.get(allocator, link)}"
    )


def two_mallocs(process: Recorded, allocations: int) -> str:
    """Return a refusal: two mallocs served the program, and no model covers this."""
    other, first = (PurePath(one).name for one in (process.second_malloc, process.allocator))
    return (
        f"No verdict: {other} served {process.second_allocations:,} of the {allocations:,} "
        f"allocations, and {first} served the rest. The models assume that one malloc serves the "
        f"program. Record the program with a preloaded library that also defines C++'s `operator "
        f"new` and `delete`, such as jemalloc or {GLIBC}."
    )


def unseen(size: float) -> str:
    """Return a refusal: the process holds heap memory that no recorded block explains."""
    return (
        f"No verdict: {spelled(size)} of the process's memory from brk contain no recorded block. "
        f"Either an allocator that the recorder cannot see uses this memory, or the process "
        f"obtained it before the recording began."
    )


def too_small(events: int, live: int) -> str:
    """Return a refusal: the trace has too few events and bytes."""
    return (
        f"No verdict: the trace has only {counted(events, 'event')} and at most {spelled(live)} of "
        f"live bytes. If the program allocates more, the recording is incomplete."
    )


def recommended(choice: Choice, moments: Sequence[Moment]) -> str:
    """Return the line to type, and its saving at each moment at which it helps."""
    now, best = choice.now, choice.best
    first, *others = moments
    held, live = now.moments[first], live_at(now, first)
    ratio = held / live if live else 0
    decimals = 1 if ratio < 10 else 0
    times = f" ({ratio:,.{decimals}f} times the {spelled(live)} of live data)"
    further = "".join(
        f" {other.words.capitalize()}, resident memory would fall {_change(now, best, other)}."
        for other in others
    )
    return (
        f"Recommended: `{best.line}`. {first.words.capitalize()}, the heap's resident memory would "
        f"fall from {spelled(held)}{times if ratio else ''} to {spelled(best.moments[first])}."
        f"{further}{unwritten(live, best.moments[first]) if first is Moment.PEAK else ''}"
    )


def elsewhere(choice: Choice) -> str:
    """Return a sentence on the moments at which the recommended setting changes little."""
    others = [moment.words for moment in Moment if moment not in choice.moments]
    if not others:
        return ""
    return f"The heap's resident memory changes little {_listed(others)}."


def second(choice: Choice, moments: Sequence[Moment]) -> str:
    """Return a sentence on the effect of another malloc at the first of the moments."""
    if choice.second is None or not moments:
        return ""
    to = spelled(choice.second.moments[moments[0]])
    return (
        f"The second choice is `{choice.second.line}`, the best setting of another malloc. "
        f"{moments[0].words.capitalize()}, the heap's resident memory would fall to {to}."
    )


def by_moment(choice: Choice) -> str:
    """Return a sentence on settings that help at one moment and hold more at another."""
    now = choice.now
    parts = []
    for moment, setting in choice.by_moment:
        change = _change(now, setting, moment)
        parts.append(
            f"{moment.words.capitalize()}, `{setting.line}` would reduce the heap's resident "
            f"memory {change}."
        )
        parts += [
            f"{other.words.capitalize()}, resident memory would rise "
            f"{_change(now, setting, other)}."
            for other in Moment
            if setting.moments[other] > now.moments[other] + MIN_BYTES
        ]
    return " ".join(parts)


def _change(now: Setting, setting: Setting, moment: Moment) -> str:
    """Spell the resident bytes of two settings at a moment."""
    held, would_hold = now.moments[moment], setting.moments[moment]
    return f"from {spelled(held)} to {spelled(would_hold)}"


def no_change(choice: Choice, settings: Sequence[Setting], budget: float) -> str:
    """Return the decision against a change, with the saving of the best alternative."""
    return f"No change recommended: {_near(choice, settings, budget)}."


def _near(choice: Choice, settings: Sequence[Setting], budget: float) -> str:
    """Return a sentence on the savings of settings that can be recommended."""
    now, name = choice.now, choice.now.candidate.name
    of_those = " that can be recommended" if choice.refused or choice.beyond else ""
    least = {
        moment: min(
            (
                one.moments[moment]
                for one in settings
                if is_able(one, now) and not is_costly(one, budget)
            ),
            default=now.moments[moment],
        )
        for moment in Moment
    }
    more = {moment: now.moments[moment] - least[moment] for moment in Moment}
    if choice.by_moment:
        return (
            f"some settings need less memory than {name} at one moment, but each of them needs "
            "more at another"
        )
    if all(value <= 0 for value in more.values()):
        return f"{name} needs the least memory of all settings{of_those or ' tried'}"
    if max(more.values()) < MIN_BYTES:
        kib = round(max(more.values()) / 1024)
        saves = f"only {kib:,} KiB" if kib else "less than 1 KiB"
        return f"the best alternative to {name}{of_those} saves {saves}"
    share = max(more[each] / max(now.moments[each], 1) for each in Moment)
    return f"the best alternative to {name}{of_those} saves at most {ceil(100 * share)} %"


def within_variation(choice: Choice) -> str:
    """Return the decision against a change whose saving is within the run-to-run variation."""
    best = choice.best
    return (
        f"No change recommended: the saving of `{best.line}` is within the run-to-run variation of "
        f"{choice.now.candidate.name}."
    )


def resident(now: Setting) -> str:
    """Return a sentence on the resident bytes at the peak, and their live part."""
    holds, live = now.moments[Moment.PEAK], live_at(now, Moment.PEAK)
    share = f"; {min(100 * live / holds, 100):.0f} % of it is live at that time" if holds else ""
    see = (
        " `simalloc sites` shows which code allocated the live bytes."
        if live > MOSTLY_LIVE * holds
        else ""
    )
    unused = now.moments[Moment.UNUSED]
    idle = live_at(now, Moment.UNUSED)
    most = (
        f" Unused memory (resident but not live) peaks at {spelled(unused - idle)}."
        if unused - idle > MIN_BYTES
        else ""
    )
    never = unwritten(live, holds)
    return f"The heap's resident memory peaks at {spelled(holds)}{share}.{never}{see}{most}"


def cost(best: Setting) -> str:
    """Return sentences on the CPU time of a setting."""
    spent = best.cost
    if spent.max_seconds < MIN_SECONDS:
        return "The change costs no measurable CPU time."
    unknown = (
        " The cost as a share of the program's CPU time is unknown because the trace has no times."
        if spent.share is None
        else ""
    )
    return f"The change costs {_price(spent)}{unknown}"


def _price(spent: Cost) -> str:
    """Format a cost as the end of a sentence, and its causes as further sentences."""
    seconds, shares = max(spent.seconds, 0), ""
    if spent.of_seconds is not None:
        least, most = (100 * each / spent.of_seconds for each in (seconds, spent.max_seconds))
        shares = f" ({least:.1f} to {most:.1f} % of the program's)"
    causes = {"page fault": spent.faults, "system call": spent.system_calls}
    more = [counted(number, what) for what, number in causes.items() if number > 0]
    fewer = [counted(-number, what) for what, number in causes.items() if number < 0]
    details = f" It adds {_listed(more)}." if more else ""
    details += f" It saves {_listed(fewer)}." if fewer else ""
    if spent.uncached > 0:
        details += f" {spent.uncached:,} more requests bypass the thread cache."
    return f"{seconds:.2g} to {spent.max_seconds:.2g} s of CPU time{shares}.{details}"


def beyond(setting: Setting, budget: float) -> str:
    """Return a sentence on a setting that would save more and costs too much."""
    most = helped_words(setting)
    return (
        f"`{setting.line}` would reduce the heap's resident memory to {most}. This setting costs "
        f"{_price(setting.cost)} The upper limit of this cost exceeds the {100 * budget:g} % that "
        f"--max-cost allows."
    )


def helped_words(setting: Setting) -> str:
    """Format the bytes that a setting holds at each moment."""
    return _listed([f"{spelled(setting.moments[moment])} {moment.words}" for moment in Moment])


def refused(setting: Setting, now: Setting) -> str:
    """Return the reason why a setting that holds clearly less is not recommended."""
    moments = helped(setting, now)
    at = moments[0] if moments else Moment.PEAK
    holds = f"{spelled(setting.moments[at])} {at.words}"
    candidate = setting.candidate
    if TRIM in candidate.values:
        every = f"{candidate.trims_every:,}"
        return (
            f"Calling `malloc_trim(0)` every {every} events would reduce the heap's resident "
            f"memory to {holds}."
        )
    if candidate.allocator == PYTHONS_OWN and "discard_pools" in candidate.values:
        return (
            f"If Python returned empty pools to the system, the heap's resident memory would be "
            f"{holds}. No release of Python does this today."
        )
    if candidate.allocator == PYTHONS_OWN and "version" in candidate.values:
        version = candidate.values["version"]
        return f"With the arenas of Python {version}, the heap's resident memory would be {holds}."
    if not waits(setting, now):
        return ""
    return (
        f"`{setting.line}` would reduce the heap's resident memory to {holds}, but "
        f"{100 * (setting.at_once or 0):.0f} % of the requests would contend for an arena (now "
        f"{100 * (now.at_once or 0):.0f} %). Measure the program's run time under this setting."
    )


def in_arenas(found: ThreadArenas) -> str:
    """Return a sentence on the unused bytes in threads' arenas."""
    idle = (
        f" Of this memory, {spelled(found.idle_bytes)} is in {counted(found.idle, 'idle arena')}. "
        f"An idle arena has no request in the last tenth of the events."
        if found.idle
        else ""
    )
    arenas = counted(found.arenas, "thread arena contains", "thread arenas contain")
    return (
        f"Under glibc, {arenas} {spelled(found.bytes)} of resident memory that is not live.{idle}"
    )


def variation(share: float | None, events: int) -> str:
    """Return a sentence on the run-to-run variation of the present memory."""
    if share is None:
        return f"Run-to-run variation was not estimated: the trace has more than {events:,} events."
    if share < 0.005:
        return ""
    return f"Run-to-run variation is up to {100 * share:.0f} % of peak resident memory."


def contention(best: Setting) -> str:
    """Return a warning that the arena contention of the recommended setting is unknown."""
    if best.at_once is not None or best.run.threads == 1 or best.candidate.below == "mimalloc":
        return ""
    return (
        "Arena contention under the recommended setting is unknown. Measure the program's run time "
        "under the setting, or record the program with `--times`."
    )


def no_model(process: Recorded, now: Setting) -> str:
    """Return a sentence if the malloc that served the program has no model or is unknown."""
    name = now.candidate.name
    if not process.has_model:
        served = PurePath(process.allocator).name
        return (
            f"The program ran with {served}, which has no model, so settings are compared with "
            f"{name}."
        )
    if not process.is_named:
        return f"The trace does not name the malloc that served the program; {name} is assumed."
    return ""


def released(wanted: str, used: str, allocator: str) -> str:
    """Return a sentence if the modelled release differs from the recorded one."""
    if not wanted:
        return ""
    return f"The program ran with {allocator} {wanted}; the nearest modelled release is {used}."


def freed_remotely(found: RemoteFrees) -> str:
    """Return a warning that a sequential replay underestimates the memory of mimalloc."""
    rate = "" if found.per_second is None else f" ({found.per_second:,.0f} per second)"
    return (
        f"In {100 * found.share:.0f} % of the frees{rate}, a thread frees a block that another "
        f"thread allocated. The figures for mimalloc are therefore likely to be too low. In a "
        f"program, such a block waits until the allocating thread collects it. In a replay, the "
        f"block does not wait."
    )


def left_out(candidates: Sequence[Candidate]) -> str:
    """Return a sentence on candidates that a running process cannot change to, or ""."""
    others = dict.fromkeys(one.allocator for one in candidates if one.allocator != "glibc")
    fixed = [one.settings for one in candidates if one.allocator == "glibc"]
    said = [
        f"Omitted because they cannot begin with glibc's heap: {_listed(list(others))}."
        if others
        else "",
        f"Omitted because a running program cannot change them: {_listed(fixed)}." if fixed else "",
    ]
    return " ".join(filter(None, said))


def machine(assumed: Machine) -> str:
    """Return a sentence on the machine and on the origin of its number of cores."""
    return assumed.text


def _listed(parts: Sequence[str]) -> str:
    """Join parts with commas and "and"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
