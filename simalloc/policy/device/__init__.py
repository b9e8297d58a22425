"""Descriptions of the caching allocators that deep-learning frameworks put before a device."""

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
