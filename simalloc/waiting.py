"""How the main thread waits, so that Ctrl-C ends every wait."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, wait
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

LOOK_SECONDS: Final = 0.1
"""The longest that the main thread waits before it looks again at what it waits for.

Ctrl-C ends a wait under way. But one that comes just before a wait, or that another thread is told
of, is noticed only after the wait: for hours, if what is waited for takes hours.
"""


def completed(futures: Iterable[Future[Any]]) -> Iterator[Future[Any]]:
    """Yield futures as they are done."""
    left = set(futures)
    while left:
        done, left = wait(left, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
        yield from done
