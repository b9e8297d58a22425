"""Descriptions of the caching allocators of deep-learning frameworks."""

from simalloc.policy.device.arenas import Bfc, Extend, NoCache, OrtArena, RmmPool
from simalloc.policy.device.base import UNLIMITED, Device
from simalloc.policy.device.pytorch import PyTorch

__all__ = [
    "UNLIMITED",
    "Bfc",
    "Device",
    "Extend",
    "NoCache",
    "OrtArena",
    "PyTorch",
    "RmmPool",
]
