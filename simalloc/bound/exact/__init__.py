"""Exact search for the minimum height of a set of buffers."""

from simalloc.bound.exact.buffers import Buffers
from simalloc.bound.exact.search import Effort, Minimum, minimise

__all__ = ["Buffers", "Effort", "Minimum", "minimise"]
