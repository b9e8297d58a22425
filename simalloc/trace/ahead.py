"""Computation of an iterator's items in advance, in a separate thread."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Final, TypeVar

DEPTH: Final = 8
"""Maximum number of items in the queue, including the item being made."""

Item = TypeVar("Item")


def ahead(items: Iterator[Item], depth: int = DEPTH) -> Generator[Item]:
    """Yield an iterator's items. Another thread makes up to `depth` of them in advance.

    An error of the iterator is raised here, after the items before it. Closing the generator waits
    for the item being made and then stops the thread.
    """
    made: SimpleQueue[tuple[Item] | BaseException | None] = SimpleQueue()
    room = Semaphore(depth)
    stopped = Event()

    def work() -> None:
        try:
            while room.acquire() and not stopped.is_set():
                made.put((next(items),))
        except StopIteration:
            made.put(None)
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            made.put(error)

    thread = Thread(target=work, name="read-ahead")
    try:  # Ctrl-C may arrive while the thread starts
        thread.start()
        while (one := made.get()) is not None:
            if isinstance(one, BaseException):
                raise one
            yield one[0]
            room.release()
    finally:
        stopped.set()
        room.release()
        if thread.is_alive():
            thread.join()
