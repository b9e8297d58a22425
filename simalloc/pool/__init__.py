"""Fixed pools: the smallest size that serves every request, and how safe it is."""

from simalloc.pool.answer import Answer, answer, curve
from simalloc.pool.margins import Margin, with_variations, worst_of, worst_program
from simalloc.pool.search import Sizes

__all__ = [
    "Answer",
    "Margin",
    "Sizes",
    "answer",
    "curve",
    "with_variations",
    "worst_of",
    "worst_program",
]
