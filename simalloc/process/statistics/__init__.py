"""Allocators' own reports in files: from malloc_info, jemalloc and tcmalloc."""

from simalloc.process.statistics.reading import read_statistics
from simalloc.process.statistics.statistics import ArenaFigures, ClassFigures, Statistics

__all__ = ["ArenaFigures", "ClassFigures", "Statistics", "read_statistics"]
