"""Heaps of allocators other than glibc's, found by their own tables."""

from simalloc.process.foreign.finding import find_foreign
from simalloc.process.foreign.foreign import Foreign, ForeignClass

__all__ = ["Foreign", "ForeignClass", "find_foreign"]
