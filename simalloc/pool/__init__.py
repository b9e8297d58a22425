"""Fixed pools: the smallest size that serves every request, and its safety margin."""

from simalloc.pool.answer import Answer, answer, curve
from simalloc.pool.block_pools import BlockPools, block_pools
from simalloc.pool.declarations import DECLARATIONS
from simalloc.pool.diagnosis import Diagnosis, diagnose
from simalloc.pool.margins import Margin, with_variations, worst_of, worst_program
from simalloc.pool.search import Sizes

__all__ = [
    "DECLARATIONS",
    "Answer",
    "BlockPools",
    "Diagnosis",
    "Margin",
    "Sizes",
    "answer",
    "block_pools",
    "curve",
    "diagnose",
    "with_variations",
    "worst_of",
    "worst_program",
]
