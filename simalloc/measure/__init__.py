"""What a policy's decisions cost."""

from simalloc.measure.fragmentation import Fragmentation, fragmentation

__all__ = ["Fragmentation", "fragmentation"]
