"""The errors by which a heap refuses a request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Refused(Exception):  # noqa: N818 - the run goes on
    """A growth beyond the capacity, or a request that its heap has no room for."""


class Exhausted(Exception):  # noqa: N818 - it ends the run, which is not an error
    """An allocator that gets no memory for its own tables, and cannot go on without."""


@contextmanager
def needed_by_allocator() -> Iterator[None]:
    """Raise `Exhausted` if what the allocator needs for itself is refused."""
    try:
        yield
    except Refused:
        raise Exhausted from None
