"""Descriptions of allocators whose memory is a pool of fixed size (pool.md: adding one)."""

from simalloc.policy.pool.base import AMPLE, Pool
from simalloc.policy.pool.esp_idf import EspIdf
from simalloc.policy.pool.freertos import Heap4, Heap5
from simalloc.policy.pool.lvgl import Lvgl

__all__ = ["AMPLE", "EspIdf", "Heap4", "Heap5", "Lvgl", "Pool"]
