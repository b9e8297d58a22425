"""The adversaries by name. `simalloc.bound.proven` has the proven worst cases."""

from __future__ import annotations

from collections.abc import Callable
from math import e
from typing import Final, NamedTuple

import numpy as np

from simalloc.adversary.every_size import every_size
from simalloc.adversary.game import Game
from simalloc.adversary.robson import against_buddies, robson
from simalloc.errors import SimallocError
from simalloc.policy import AnyPolicy, spell
from simalloc.trace import Op, Trace

MAX_LIVE: Final = 1 << 26
LARGEST: Final = 1 << 16


def rows(game: Game, live: int, largest: int) -> None:
    """Play rows of gaps of up to `largest` - 1 bytes.

    Let closed be the live bytes before a row. A row of gaps of i bytes has (live - closed) / (i +
    1) objects of 1 byte, which stay live, and raises the heap by live - closed. The sum over all
    rows is highest if the first gap has `largest` / e bytes: 0.37 times live times largest.
    """
    number = 0
    for gap in range(max(2, round(largest / e)), largest):
        count = (live - game.live) // (gap + 1)
        if count == 0:
            return
        first = number + 3 * np.arange(count)
        op = np.tile(np.array([Op.MALLOC, Op.FREE, Op.MALLOC, Op.MALLOC], np.uint8), count)
        who = np.stack((first, first, first + 1, first + 2), axis=1).ravel()
        size = np.tile(np.array([gap + 1, 0, gap, 1], np.int64), count)
        game.play(op, who, size)
        held = first + 1
        game.play(np.full(count, Op.FREE, np.uint8), held, np.zeros(count, np.int64))
        number += 3 * int(count)


class Adversary(NamedTuple):
    """An adversary: a description, and a function of a game, `live` and `largest`."""

    description: str
    play: Callable[[Game, int, int], None]


ADVERSARIES: Final = {
    "robson": Adversary("Robson 1974, against every policy", robson),
    "against-first-fit": Adversary("every size in turn; lower bound of Robson 1977", every_size),
    "against-best-fit": Adversary("rows of gaps, after Robson 1977", rows),
    "against-buddies": Adversary("requests just above powers of two", against_buddies),
}


def attack(
    name: str,
    policy: AnyPolicy,
    *,
    live: int = 1 << 16,
    largest: int = 1 << 8,
    scale: int | None = None,
    engine: str = "core",
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Return the trace of an adversary that played against a policy.

    The parameters are documented in `played`. The trace's provenance states the size of the
    policy's heap, and the trace can be run under every policy.
    """
    game = played(
        name, policy, live=live, largest=largest, scale=scale, engine=engine, progress=progress
    )
    against = spell(game.setting.policy)
    return game.trace(
        f"{name} against {against}",
        {
            "kind": "adversary",
            "policy": against,
            "live": live,
            "largest": largest,
            "scale": scale,
            "peak_heap_bytes": game.peak_heap_bytes,
        },
    )


def played(
    name: str,
    policy: AnyPolicy,
    *,
    live: int,
    largest: int,
    scale: int | None = None,
    engine: str = "core",
    progress: Callable[[int], None] | None = None,
) -> Game:
    """Return the game that an adversary played against a policy.

    At most `live` bytes are live, in objects of 1 to `largest` bytes; `largest` is a power of two.
    The policy sees sizes multiplied by `scale`. `engine` is "core" or "reference". `progress` is
    called with the number of events done since its last call. Raises `SimallocError` for an unknown
    adversary or an invalid size.
    """
    if name not in ADVERSARIES:
        raise SimallocError(f"unknown adversary {name!r}; choose one of {', '.join(ADVERSARIES)}")
    if largest < 2 or largest > LARGEST or largest & (largest - 1):
        raise SimallocError(f"largest is {largest}; use a power of two from 2 to {LARGEST}")
    if not largest <= live <= MAX_LIVE:
        raise SimallocError(
            f"live is {live}; use a number from {largest}, the largest object, to {MAX_LIVE}"
        )
    game = Game(policy, scale=scale, engine=engine, progress=progress)
    ADVERSARIES[name].play(game, live, largest)
    return game
