"""Errors by which a heap refuses a request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Refused(Exception):  # noqa: N818 - the run goes on
    """Raised for growth beyond the capacity, or for a request that the heap cannot serve."""


class Exhausted(Exception):  # noqa: N818 - it ends the run, which is not an error
    """Raised if an allocator gets no memory for its own tables and cannot continue."""


@contextmanager
def needed_by_allocator() -> Iterator[None]:
    """Raise `Exhausted` if memory for the allocator itself is refused."""
    try:
        yield
    except Refused:
        raise Exhausted from None
