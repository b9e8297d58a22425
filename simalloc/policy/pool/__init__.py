"""Descriptions of allocators whose memory is a pool of fixed size (pool.md: adding one)."""

from simalloc.policy.pool.avr_libc import AvrLibc
from simalloc.policy.pool.base import AMPLE, Pool
from simalloc.policy.pool.emmalloc import Emmalloc
from simalloc.policy.pool.esp_idf import EspIdf
from simalloc.policy.pool.freertos import Heap1, Heap2, Heap4, Heap5
from simalloc.policy.pool.lvgl import Lvgl
from simalloc.policy.pool.lwip import Lwip
from simalloc.policy.pool.micropython import MicroPython
from simalloc.policy.pool.newlib import Newlib
from simalloc.policy.pool.newlib_nano import NewlibNano
from simalloc.policy.pool.nuttx import Nuttx
from simalloc.policy.pool.o1heap import O1heap
from simalloc.policy.pool.picolibc import Picolibc
from simalloc.policy.pool.rt_thread import RtThread
from simalloc.policy.pool.rt_thread_memheap import RtThreadMemheap
from simalloc.policy.pool.rtx5 import Rtx5
from simalloc.policy.pool.threadx import ThreadX
from simalloc.policy.pool.tlsf_bsd import TlsfBsd
from simalloc.policy.pool.umm_malloc import UmmMalloc
from simalloc.policy.pool.wee_alloc import WeeAlloc
from simalloc.policy.pool.zephyr import Zephyr

__all__ = [
    "AMPLE",
    "AvrLibc",
    "Emmalloc",
    "EspIdf",
    "Heap1",
    "Heap2",
    "Heap4",
    "Heap5",
    "Lvgl",
    "Lwip",
    "MicroPython",
    "Newlib",
    "NewlibNano",
    "Nuttx",
    "O1heap",
    "Picolibc",
    "Pool",
    "RtThread",
    "RtThreadMemheap",
    "Rtx5",
    "ThreadX",
    "TlsfBsd",
    "UmmMalloc",
    "WeeAlloc",
    "Zephyr",
]
