"""An allocator's own report in a file: malloc_info, jemalloc's and tcmalloc's figures."""

from simalloc.process.statistics.reading import read_statistics
from simalloc.process.statistics.statistics import ArenaFigures, ClassFigures, Statistics

__all__ = ["ArenaFigures", "ClassFigures", "Statistics", "read_statistics"]
