"""Waits of the main thread that Ctrl-C can end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from concurrent.futures import Future

LOOK_SECONDS: Final = 0.1
"""Maximum seconds before the main thread checks again whether its wait is over.

Ctrl-C interrupts a wait. A signal that arrives just before a wait, or in another thread, is handled
only after the wait, which may take hours without this limit.
"""


def completed(futures: Iterable[Future[Any]]) -> Iterator[Future[Any]]:
    """Yield futures as they complete.

    Ctrl-C can interrupt this function without leaving a lock held. The standard library's `wait`
    would need the lock of its waiter, which an interrupt could leave held.
    """
    done: SimpleQueue[Future[Any]] = SimpleQueue()
    left = 0
    for future in futures:
        future.add_done_callback(done.put)
        left += 1
    while left:
        try:
            yield done.get(timeout=LOOK_SECONDS)
        except Empty:
            continue
        left -= 1
