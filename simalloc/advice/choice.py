"""The choice of a setting: its savings by moment, its cost, and its certainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simalloc.advice.moments import Moment
from simalloc.advice.outcomes import Setting

MIN_GAIN: Final = 0.05
"""Minimum saving for a recommendation, as a share of the resident bytes.

Inaccuracies of the model, the recording and the system's own pages are of this size.
"""

MIN_BYTES: Final = 256 << 10
"""Minimum saving in bytes: a few dozen pages, the usual variation of a process."""

MORE_AT_ONCE: Final = 0.01
"""Maximum increase in the share of requests at which threads compete for an arena."""

MIN_SECONDS: Final = 0.01
"""CPU seconds below which a cost is start-up noise and does not count."""


def is_worth(holds: float, gain: float) -> bool:
    """Return whether a saving of `gain` bytes justifies a change."""
    return gain >= max(MIN_BYTES, MIN_GAIN * holds)


@dataclass(frozen=True)
class Choice:
    """The recommended setting and other settings to mention; `best` is `now` for no change.

    `best` holds clearly less than `now` at the `moments`. `second` is the best setting of another
    malloc. If no setting helps without holding clearly more at another moment, `by_moment` contains
    the best setting for each moment alone. `beyond` is the best setting above the budget, and
    `refused` the best setting that cannot be recommended for another reason. Both are None unless
    they save clearly more than `best`.
    """

    now: Setting
    best: Setting
    moments: Sequence[Moment]
    second: Setting | None
    by_moment: Sequence[tuple[Moment, Setting]]
    beyond: Setting | None
    refused: Setting | None


def choose(settings: Sequence[Setting], now: Setting, budget: float) -> Choice:
    """Choose among settings; `budget` is the maximum share of CPU time that a setting may cost."""
    able = [one for one in settings if one is not now and is_able(one, now)]
    cheap = [one for one in able if not is_costly(one, budget)]
    best = _best(cheap, now)
    beyond = _better(_best([one for one in able if is_costly(one, budget)], now), best, now)
    others = [one for one in settings if one is not now and not is_able(one, now)]
    refused = _better(_best(others, now), best, now)
    return Choice(
        now=now,
        best=best or now,
        moments=helped(best, now) if best else (),
        second=_second(cheap, best, now),
        by_moment=() if best else _by_moment(cheap, now),
        beyond=beyond,
        refused=refused,
    )


def is_able(setting: Setting, now: Setting) -> bool:
    """Return whether a setting needs no other change and adds no contention for arenas."""
    return setting.candidate.can_be_set and not waits(setting, now)


def waits(setting: Setting, now: Setting) -> bool:
    """Return whether threads would compete for an arena clearly more often than at present."""
    return (setting.at_once or 0) > (now.at_once or 0) + MORE_AT_ONCE


def is_costly(setting: Setting, budget: float) -> bool:
    """Return whether a setting's cost is known and may exceed the budget."""
    return setting.cost.exceeds(budget) and setting.cost.max_seconds >= MIN_SECONDS


def saved(setting: Setting, now: Setting) -> dict[Moment, float]:
    """Return the bytes that a setting saves relative to the present one, at each moment."""
    return {moment: now.moments[moment] - setting.moments[moment] for moment in Moment}


def helped(setting: Setting, now: Setting) -> list[Moment]:
    """Return the moments at which a setting holds clearly less, by decreasing saving."""
    gains = saved(setting, now)
    found = [moment for moment in Moment if is_worth(now.moments[moment], gains[moment])]
    return sorted(found, key=lambda moment: -gains[moment])


def _hurts(setting: Setting, now: Setting) -> bool:
    """Return whether a setting holds clearly more at some moment."""
    gains = saved(setting, now)
    return any(is_worth(now.moments[moment], -gains[moment]) for moment in Moment)


def _total(setting: Setting, now: Setting) -> float:
    return sum(saved(setting, now).values())


def _best(some: Sequence[Setting], now: Setting) -> Setting | None:
    """Return the setting with the largest saving that never holds clearly more, or None.

    Among settings with about the same saving, settings of the present malloc have precedence, then
    the cheapest, then those with the fewest parameters.
    """
    fit = [one for one in some if helped(one, now) and not _hurts(one, now)]
    if not fit:
        return None
    most = max(fit, key=lambda one: _total(one, now))
    return min(
        (one for one in fit if _is_near(one, most, now)),
        key=lambda one: (
            one.candidate.allocator != now.candidate.allocator,
            one.cost.max_seconds if one.cost.max_seconds >= MIN_SECONDS else 0,
            len(one.candidate.values),
            -_total(one, now),
        ),
    )


def _is_near(setting: Setting, best: Setting, now: Setting) -> bool:
    """Return whether a setting holds about the same as another at each moment."""
    return all(
        setting.moments[moment] - best.moments[moment]
        <= max(MIN_BYTES, MIN_GAIN * now.moments[moment])
        for moment in Moment
    )


def _better(found: Setting | None, best: Setting | None, now: Setting) -> Setting | None:
    """Return `found` if it saves clearly more than `best`, else None."""
    if found is None:
        return None
    more = _total(found, now) - (_total(best, now) if best else 0)
    return found if is_worth((best or now).moments[Moment.PEAK], more) else None


def _second(some: Sequence[Setting], best: Setting | None, now: Setting) -> Setting | None:
    """Return the best setting of another malloc, if it helps at each moment that `best` helps."""
    if best is None:
        return None
    others = [one for one in some if one.candidate.allocator != best.candidate.allocator]
    found = _best(others, now)
    same = found is not None and set(helped(best, now)) <= set(helped(found, now))
    return found if same else None


def _by_moment(some: Sequence[Setting], now: Setting) -> list[tuple[Moment, Setting]]:
    """Return the setting with the largest saving at each moment, where the saving is clear."""
    if not some:
        return []
    found = [(moment, min(some, key=lambda one: one.moments[moment])) for moment in Moment]
    return [(moment, one) for moment, one in found if moment in helped(one, now)]
