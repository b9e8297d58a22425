"""Allocators of boards, whose heap is a pool of fixed size."""

from __future__ import annotations

from typing import Final

from simalloc.policy.description import Policy
from simalloc.policy.pool import (
    EspIdf,
    Heap1,
    Heap2,
    Heap4,
    Heap5,
    Lvgl,
    Lwip,
    O1heap,
    TlsfBsd,
    Zephyr,
)

GROUP: Final = "pool"
TITLE: Final = "allocators of boards, in a pool of fixed size"

_FREERTOS: Final = "FreeRTOS-Kernel V11.3.0, portable/MemMang"

POLICIES: Final = (
    Policy("freertos-heap-1", Heap1(), source=f"{_FREERTOS}/heap_1.c", scale=1),
    Policy("freertos-heap-2", Heap2(), source=f"{_FREERTOS}/heap_2.c", scale=1),
    Policy("freertos-heap-4", Heap4(), source=f"{_FREERTOS}/heap_4.c", scale=1),
    Policy("freertos-heap-5", Heap5(), source=f"{_FREERTOS}/heap_5.c", scale=1),
    Policy("esp-idf", EspIdf(), source="ESP-IDF 5.5, components/heap, and espressif/tlsf", scale=1),
    Policy("lvgl", Lvgl(), source="LVGL 9.5.0, src/stdlib/builtin", scale=1),
    Policy("lwip", Lwip(), source="lwIP after 2.2.1 (3d896ba0), src/core/mem.c", scale=1),
    Policy("o1heap", O1heap(), source="o1heap 2.2.0", scale=1),
    Policy("tlsf-bsd", TlsfBsd(), source="jserv/tlsf-bsd, master of August 2025", scale=1),
    Policy("zephyr", Zephyr(), source="Zephyr, lib/heap of 2025", scale=1),
)
