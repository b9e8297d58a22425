"""The verdict: the line to type, its effect, its cost, and its certainty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from simalloc.advice import sentences
from simalloc.advice.choice import Choice, choose, is_worth
from simalloc.advice.circumstances import (
    SMALL_SHARE,
    Share,
    are_of_mimalloc,
    distance,
    has_two_mallocs,
    is_too_small,
    remote_frees,
    share_of_malloc,
    unseen_heap,
)
from simalloc.advice.costs import DEFAULT_BUDGET
from simalloc.advice.moments import Moment
from simalloc.advice.outcomes import IN_MEMORY, Setting, in_use
from simalloc.advice.recorded import Recorded
from simalloc.advice.thread_arenas import thread_arenas
from simalloc.advice.variation import Variation, events_of_variation, share, variation
from simalloc.trace import EventSource

OF_ARENAS: Final = 0.25
"""Minimum share of the unused bytes for a sentence on the threads' arenas."""

SHORT: Final = 2_000_000
"""Maximum number of events for which run-to-run variation is estimated by default."""


@dataclass(frozen=True)
class Advice:
    """The verdict: `paragraphs` of sentences, and the `line` to paste (empty for no change).

    The first paragraph is the decision. Each other paragraph contains one kind of statement. `now`
    is the program's setting, assumed unless `is_known`. `best` is the recommended setting (`now`
    for no change), which helps at `moments`, sorted by decreasing saving. Settings of other mallocs
    are compared at `moment`. `spread` is the relative variation of the resident bytes over replays
    with other orders of threads and another start of the heap, or None if it was not estimated.
    `share` is the share of malloc's heap in the process.
    """

    paragraphs: Sequence[Sequence[str]]
    line: str
    spread: float | None
    now: Setting
    best: Setting
    moments: Sequence[Moment]
    is_known: bool
    share: Share | None

    @property
    def sentences(self) -> list[str]:
        """The sentences of all paragraphs."""
        return [sentence for paragraph in self.paragraphs for sentence in paragraph]

    @property
    def text(self) -> str:
        """The verdict in words."""
        return " ".join(self.sentences)

    @property
    def moment(self) -> Moment:
        """The moment with the largest saving, or the peak if nothing is saved."""
        return self.moments[0] if self.moments else Moment.PEAK

    @property
    def saves(self) -> float:
        """Saving in bytes at the decisive moment."""
        return self.now.moments[self.moment] - self.best.moments[self.moment]


def advise(
    source: EventSource,
    settings: Sequence[Setting],
    process: Recorded,
    *,
    perturb: bool = True,
    budget: float = DEFAULT_BUDGET,
    progress: Callable[[int], None] | None = None,
) -> Advice:
    """Return the verdict on settings, including the program's present setting.

    With `perturb`, the `source` is held in memory and replayed under perturbations. Without
    `perturb`, the verdict states that the trace has more than `SHORT` events. `budget` is the
    maximum share of CPU time that a recommended setting may cost. `progress` is called with the
    number of events done since its last call, up to `events_of_advice`.
    """
    now = in_use(settings, process)
    known = process.has_model and process.is_named
    part = share_of_malloc(now, process)
    circumstances = [
        sentences.no_model(process, now),
        sentences.released(*distance(process), process.allocator),
    ]
    if refusal := _refusal(source, now, process, part):
        return Advice(_said([[refusal], circumstances]), "", None, now, now, (), known, part)
    choice = choose(settings, now, budget)
    moves = variation(source.in_memory(), now, choice.best, progress=progress) if perturb else None
    moments = _certain(choice, moves)
    spread = share(moves, now) if moves else None
    chosen = bool(moments)
    verdict = _recommended(choice, moments) if chosen else _unchanged(choice, settings, budget)
    said = [
        *verdict,
        _alternatives(choice, budget),
        [sentences.share_of_process(part)],
        [sentences.variation(spread, SHORT)],
        [_arenas(source, now, moments, progress)],
        circumstances,
        [_remote(source, settings)],
    ]
    return Advice(
        paragraphs=_said(said),
        line=choice.best.line if chosen else "",
        spread=spread,
        now=now,
        best=choice.best if chosen else now,
        moments=moments,
        is_known=known,
        share=part,
    )


def events_of_advice(source: EventSource) -> int:
    """Return the maximum number of events that `advise` replays."""
    return events_of_variation(source) + len(source)


def _refusal(source: EventSource, now: Setting, process: Recorded, part: Share | None) -> str:
    """Return the reason why no setting can be judged or can help, or an empty string."""
    if process.built_in:
        return sentences.built_in(process.built_in)
    if has_two_mallocs(source, process):
        return sentences.two_mallocs(process, source.objects)
    if unseen := unseen_heap(process, part):
        return sentences.unseen(unseen)
    if is_too_small(source, now):
        return sentences.too_small(len(source), now.run.max_live_bytes)
    if part is not None and part.of_malloc < SMALL_SHARE:
        return sentences.no_setting_can_help(part)
    return ""


def _said(paragraphs: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the paragraphs, with empty sentences and empty paragraphs removed."""
    return [said for each in paragraphs if (said := [sentence for sentence in each if sentence])]


def _certain(choice: Choice, moves: Variation | None) -> list[Moment]:
    """Return the moments at which the best setting saves clearly in every perturbed replay."""
    if moves is None:
        return list(choice.moments)
    return [
        moment
        for moment in choice.moments
        if is_worth(choice.now.moments[moment], moves.saves[moment])
    ]


def _recommended(choice: Choice, moments: Sequence[Moment]) -> list[list[str]]:
    """Return the paragraphs on a recommended setting: effect, cost, other mallocs, contention."""
    best = choice.best
    return [
        [sentences.recommended(choice, moments), sentences.elsewhere(choice)],
        [sentences.cost(best)],
        [sentences.second(choice, moments)],
        [sentences.contention(best)],
    ]


def _unchanged(choice: Choice, settings: Sequence[Setting], budget: float) -> list[list[str]]:
    """Return the paragraphs that recommend no change, and state what the program holds."""
    decision = (
        [sentences.within_variation(choice)]
        if choice.best is not choice.now
        else [sentences.no_change(choice, settings, budget), sentences.by_moment(choice)]
    )
    return [decision, [sentences.resident(choice.now)]]


def _alternatives(choice: Choice, budget: float) -> list[str]:
    """Return sentences on settings that would save more and are not recommended."""
    return [
        sentences.beyond(choice.beyond, budget) if choice.beyond else "",
        sentences.refused(choice.refused, choice.now) if choice.refused else "",
    ]


def _arenas(
    source: EventSource,
    now: Setting,
    moments: Sequence[Moment],
    progress: Callable[[int], None] | None,
) -> str:
    """Return a sentence on unused bytes in threads' arenas under glibc, if there are many."""
    if now.candidate.allocator != "glibc" or now.run.threads == 1:
        return ""
    at_peak = not moments or moments[0] is Moment.PEAK
    event = now.resident.peak_event if at_peak else now.unused_event
    moment = Moment.PEAK if at_peak else Moment.UNUSED
    found = thread_arenas(source, now.run, event, progress=progress or (lambda _: None))
    holds = now.moments[moment]
    unused = holds - sentences.live_at(now, moment)
    if found.bytes < OF_ARENAS * unused or not is_worth(holds, found.bytes):
        return ""
    return sentences.in_arenas(found)


def _remote(source: EventSource, settings: Sequence[Setting]) -> str:
    """Return a sentence on the memory that a sequential replay misses."""
    if not are_of_mimalloc(settings):
        return ""
    found = remote_frees(source, IN_MEMORY)
    return sentences.freed_remotely(found) if found.are_many else ""
